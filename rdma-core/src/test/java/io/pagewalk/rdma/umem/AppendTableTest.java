package io.pagewalk.rdma.umem;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.Scatterlists;
import io.pagewalk.dma.scatterlist.SgAppendTable;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The lists that registrations grow are those of rdma:SGA-1 to SGA-7. */
class AppendTableTest {
    private static final long VIRT_MAX = 0xffff_ffffL;

    private final Machine machine = UmemWorld.builder("direct").build();
    private final Scatterlists lists = machine.scatterlists();
    private final SgAppendTable append = new SgAppendTable();

    private static long[] pfns(long first, int count) {
        return LongStream.range(first, first + count).toArray();
    }

    private int append(long[] pfns, long maxBytes, int left) {
        return lists.allocAppendTableFromPages(append, pfns, pfns.length, 0, pfns.length * 0x1000L, maxBytes, left);
    }

    /** Frame and length of each entry, in turn. */
    private List<Long> entries() {
        SgTable table = append.table();
        List<Long> entries = new ArrayList<>();
        for (int i = 0; i < table.origNents(); i++) {
            entries.add(table.pageAddr(i) >>> 12);
            entries.add(table.lengthBytes(i));
            assertThat(table.offset(i)).isZero();
        }
        return entries;
    }

    @Test
    @DisplayName(
            "rdma:SGA-1, SGA-2: pages of a second call that follow the first make one entry of up to 4 GiB less a page")
    void pagesOfTwoCallsMakeOneEntry() {
        assertThat(append(pfns(0x100, 512), VIRT_MAX, 0x58)).isZero();
        assertThat(append(pfns(0x300, 0x58), VIRT_MAX, 0)).isZero();

        assertThat(entries()).containsExactly(0x100L, 0x25_8000L);
        assertThat(append.table().isEnd(0)).isTrue();
    }

    @Test
    @DisplayName("rdma:SGA-1, SGA-4: entries are cut at the largest segment, rounded down to a page")
    void entriesAreCutAtTheLargestSegment() {
        assertThat(append(pfns(0x100, 32), 0x1_0fff, 0)).isZero();

        assertThat(entries()).containsExactly(0x100L, 0x1_0000L, 0x110L, 0x1_0000L);
    }

    @Test
    @DisplayName("rdma:SGA-2: the last entry grows up to the largest segment, and the rest begins a new one")
    void theLastEntryGrowsUpToTheLargestSegment() {
        assertThat(append(pfns(0x100, 3), 0x4000, 2)).isZero();
        assertThat(append(pfns(0x103, 2), 0x4000, 0)).isZero();

        assertThat(entries()).containsExactly(0x100L, 0x4000L, 0x104L, 0x1000L);
    }

    @Test
    @DisplayName("rdma:SGA-4, SGA-5, SGA-7: only ascending neighbours share an entry")
    void onlyAscendingNeighboursShareAnEntry() {
        assertThat(append(new long[] {5, 6, 7, 9, 10, 3}, VIRT_MAX, 0)).isZero();

        assertThat(entries()).containsExactly(5L, 0x3000L, 9L, 0x2000L, 3L, 0x1000L);
        assertThat(append.table().nents()).isEqualTo(3);
        assertThat(append.table().isEnd(2)).isTrue();
        SgAppendTable others = new SgAppendTable();
        lists.allocAppendTableFromPages(others, new long[] {8, 7, 7}, 3, 0, 0x3000, VIRT_MAX, 0);
        assertThat(others.table().origNents()).isEqualTo(3);
    }

    @Test
    @DisplayName("rdma:SGA-1, SGA-3: no page in a segment, or an offset later on, is WARNed of and -EINVAL")
    void whatCannotBeIsRefused() {
        assertThat(append(pfns(1, 1), 0xfff, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(append(pfns(1, 1), VIRT_MAX, 1)).isZero();
        assertThat(lists.allocAppendTableFromPages(append, pfns(9, 1), 1, 8, 0xff8, VIRT_MAX, 0))
                .isEqualTo(-Errno.EINVAL);

        assertThat(machine.log().warnCount()).isEqualTo(2);
        assertThat(entries()).containsExactly(1L, 0x1000L);
        assertThatThrownBy(() -> append(new long[0], VIRT_MAX, 0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    @DisplayName("rdma:SGA-6: without memory for entries the last one is as long as before the call")
    void withoutMemoryTheLastEntryIsAsBefore() {
        assertThat(append(pfns(0x100, 2), VIRT_MAX, 0x200)).isZero();
        long[] pages = new long[300];
        for (int i = 0; i < pages.length; i++) {
            pages[i] = 0x102 + 2L * i;
        }
        machine.failures().failNth("sg.chunk", 2);

        assertThat(append(pages, VIRT_MAX, 0)).isEqualTo(-Errno.ENOMEM);
        assertThat(entries()).containsExactly(0x100L, 0x2000L);
    }
}
