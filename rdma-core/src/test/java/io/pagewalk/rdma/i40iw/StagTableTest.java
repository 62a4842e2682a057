package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StagTableTest {
    private final Deque<Integer> draws = new ArrayDeque<>();

    private StagTable table(int entries, int... randoms) {
        for (int random : randoms) {
            draws.add(random);
        }
        return new StagTable(entries, draws::remove);
    }

    @ParameterizedTest
    @CsvSource({
        "1, 0x003fffff",
        "1000, 0x003fffff",
        "16384, 0x003fffff",
        "16385, 0x007fffff",
        "65536, 0x00ffffff",
        "65537, 0x01ffffff",
        "100000, 0x01ffffff",
        "16777216, 0xffffffff"
    })
    @DisplayName("rdma:STAG-1: the driver's bits are what 24 bits leave beside the index, which has 14 at least")
    void theMaskLeavesTheDriversBits(int entries, long mask) {
        assertThat(table(entries).mask()).isEqualTo((int) mask);
    }

    @Test
    @DisplayName("rdma:STAG-2: the index is the first free one from where the random bits point")
    void theIndexIsTheFirstFreeOneFromTheHint() {
        StagTable stags = table(65536, 0xdeadbeef, 0xdeadbeef, 0x12000034);
        assertThat(stags.create()).isEqualTo(0xdeadbeef);
        assertThat(stags.create()).isEqualTo(0xdeadbfef);
        assertThat(stags.create()).as("bit 0 is taken from the start").isEqualTo(0x12000134);
        assertThat(stags.inUse()).isEqualTo(3);
    }

    @Test
    @DisplayName("rdma:STAG-2: behind the last index the search begins at the first")
    void theSearchGoesAround() {
        StagTable stags = table(4, 3 << 8, 3 << 8, 7 << 8, 2 << 8);
        assertThat(List.of(stags.create(), stags.create(), stags.create())).containsExactly(0x300, 0x100, 0x200);
        assertThat(stags.create()).as("rdma:STAG-4: none is left").isZero();
        assertThat(stags.inUse()).isEqualTo(3);
    }

    @Test
    @DisplayName("rdma:STAG-3: a stag is given back by its index, whatever its key and the driver's bits")
    void aStagIsGivenBackByItsIndex() {
        StagTable stags = table(1000, 0xffc00534, 0xffc00534);
        int stag = stags.create();
        assertThat(stag).isEqualTo(0xffc00534);
        assertThat(stags.index(stag)).isEqualTo(5);
        assertThat(StagTable.hardwareIndex(stag)).isEqualTo(0xffc005);
        assertThat(StagTable.key(stag)).isEqualTo(0x34);
        stags.free(0x599);
        assertThat(stags.inUse()).isZero();
        assertThat(stags.create()).isEqualTo(stag);
    }

    @Test
    void whatIsNotInUseIsNotGivenBack() {
        StagTable stags = table(16, 0x512);
        stags.create();
        for (int stag : new int[] {0, 0xff, 0x400, 0x3ff000}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> stags.free(stag))
                    .withMessageContaining("of which no stag is in use");
        }
        stags.free(0x500);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> stags.free(0x512))
                .withMessage("stag 0x512 has index 5, of which no stag is in use");
        assertThat(stags.inUse()).isZero();
    }

    @Test
    void aTableHasOneTo2Pow24Entries() {
        for (int entries : new int[] {0, -1, (1 << 24) + 1, Integer.MIN_VALUE}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> table(entries))
                    .withMessage("a table of " + entries + " stags: an index has 24 bits (rdma:STAG-1)");
        }
        assertThat(table(1, 0x1234).create())
                .as("the only entry is never given out")
                .isZero();
    }
}
