package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Counting entries: dma-core:SG-8, SG-9. */
class SgWalkTest {
    private final SgTable list =
            new SgTable(4).add(0x1000, 0x1000).add(0x3000, 0).add(0x5000, 0x800).add(0x7000, 0xffff_ffffL);

    @Test
    void entriesAreCountedUpToEnd() { // SG-8
        assertThat(SgWalk.nents(list)).isEqualTo(4);
        list.markEnd(1);
        assertThat(SgWalk.nents(list)).isEqualTo(2);
        assertThat(SgWalk.nents(new SgTable(1))).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "0x0, 0",
        "0x1, 1",
        "0x1000, 1",
        "0x1001, 3",
        "0x1800, 3",
        "0x1801, 4",
        "0x1000017ff, 4",
        "0x100001800, -22",
        "0x7fffffffffffffff, -22",
        "-1, -22"
    })
    void theEntriesForALengthAreTheFirstThatReachIt(String length, int expected) { // SG-8
        assertThat(SgWalk.nentsForLen(list, Long.decode(length))).isEqualTo(expected);
    }

    @Test
    void entriesBehindEndDoNotCountTowardsALength() { // SG-8
        list.markEnd(0);
        assertThat(SgWalk.nentsForLen(list, 0x1001)).isEqualTo(-Errno.EINVAL);
        assertThat(SgWalk.nentsForLen(new SgTable(1), 1)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    void theLastEntryMustEndTheList() { // SG-9
        assertThat(SgWalk.last(list, 4)).isEqualTo(3);
        assertThat(SgWalk.last(new SgTable(1).add(0x1000, 1), 1)).isZero();
        list.markEnd(2);
        assertThat(SgWalk.last(list, 3)).isEqualTo(2);
        for (int nents : new int[] {2, 4, 5, 1, 0, -1}) {
            assertThatThrownBy(() -> SgWalk.last(list, nents))
                    .isInstanceOf(KernelBugException.class)
                    .hasMessage("entry " + nents + " is not the one that ends the list (dma-core:SG-9)");
        }
        assertThatThrownBy(() -> SgWalk.last(new SgTable(1), 0)).isInstanceOf(KernelBugException.class);
    }
}
