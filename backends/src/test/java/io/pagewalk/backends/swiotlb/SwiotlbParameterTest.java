package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.boot.KernelCommandLine;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SwiotlbParameterTest {
    private static void silent(String text) {
        assertThat(text).isNotEmpty();
    }

    /** SWC-1, SWC-2. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "65536         | 65536 | 0 | false | false",
                "65536,8       | 65536 | 8 | false | false",
                "65536,force   | 65536 | 0 | true  | false",
                "65536,8,noforce | 65536 | 8 | false | true",
                "force         | 32768 | 0 | true  | false",
                "noforce       | 32768 | 0 | false | true",
                ",4            | 32768 | 4 | false | false",
                "0x1000        | 4096  | 0 | false | false",
                "0X1000,010    | 4096  | 8 | false | false",
                "01000         | 512   | 0 | false | false",
                "0x            | 0     | 0 | false | false",
                "08            | 1024  | 8 | false | false",
                "1             | 128   | 0 | false | false",
                "129           | 256   | 0 | false | false",
                "force,8       | 32768 | 0 | false | false",
                "Force         | 32768 | 0 | false | false",
                "65536,,force  | 65536 | 0 | true  | false",
                "65536,,,force | 65536 | 0 | false | false",
                "65536force    | 65536 | 0 | true  | false",
                "65536,8force  | 65536 | 8 | true  | false",
                "junk          | 32768 | 0 | false | false",
            })
    void grammarIsReadLeftToRight(String value, long slots, long areas, boolean force, boolean disabled) {
        assertThat(SwiotlbParameter.DEFAULT.and(value, SwiotlbParameterTest::silent))
                .isEqualTo(new SwiotlbParameter(slots, areas, force, disabled));
    }

    /** SWC-3, SWC-4: areas round up to a power of two, slots to one that holds them. */
    @ParameterizedTest
    @CsvSource({"65536,0,65536,1", "1000,3,1024,4", "128,4,512,4", "300,1,512,1", "0,2,256,2", "384,1,512,1"})
    void areasAndSlotsAreRoundedTogether(long slots, long areas, long roundedSlots, long roundedAreas) {
        assertThat(SwiotlbParameter.DEFAULT.and(slots + "," + areas, SwiotlbParameterTest::silent))
                .isEqualTo(new SwiotlbParameter(roundedSlots, roundedAreas, false, false));
    }

    /** SWC-4: nothing is rounded while the number of areas is open. */
    @Test
    void slotsAloneAreOnlyRoundedToSets() {
        assertThat(SwiotlbParameter.DEFAULT
                        .and("384", SwiotlbParameterTest::silent)
                        .slots())
                .isEqualTo(384);
        assertThat(SwiotlbParameter.DEFAULT
                        .and("384", SwiotlbParameterTest::silent)
                        .withAreas(2, SwiotlbParameterTest::silent)
                        .slots())
                .isEqualTo(512);
    }

    /** SWC-2. */
    @Test
    void givenTwiceItAccumulates() {
        SwiotlbParameter both = SwiotlbParameter.of(
                KernelCommandLine.parse("swiotlb=force swiotlb=4096,noforce"), SwiotlbParameterTest::silent);
        assertThat(both).isEqualTo(new SwiotlbParameter(4096, 0, true, true));
    }

    /** SWC-5. */
    @Test
    void zeroSlotsDoNotDisable() {
        assertThat(SwiotlbParameter.DEFAULT
                        .and("0", SwiotlbParameterTest::silent)
                        .withAreas(2, SwiotlbParameterTest::silent))
                .isEqualTo(new SwiotlbParameter(256, 2, false, false));
    }
}
