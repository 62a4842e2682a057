package io.pagewalk.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** Lists without gaps are held whole, and their pages show every byte where it is (rdma:SGP-3 to SGP-9). */
class SgToPagesProperties {
    private static final int PAGE = 0x1000;

    /** Consecutive pieces of a run, cut anywhere. */
    @Property
    void aRunCutAnywhereIsOneRegionOfItsPages(
            @ForAll @IntRange(max = PAGE - 1) int inPage,
            @ForAll @Size(min = 1, max = 8) List<@IntRange(min = 1, max = 3 * PAGE) Integer> lengths) {
        SgTable sg = new SgTable(1);
        long first = 0x10_0000L + inPage;
        long end = first;
        for (int length : lengths) {
            sg.add(0, length);
            sg.setDma(sg.entries() - 1, end, length);
            end += length;
        }
        List<Long> pages = new ArrayList<>();
        SgToPages call = new SgToPages();

        int count = call.map(sg, sg.entries(), 0, PAGE, page -> pages.add(page) ? 0 : -1);

        assertThat(count).isEqualTo(lengths.size());
        assertThat(call.iova()).isEqualTo(first);
        assertThat(call.lengthBytes()).isEqualTo(end - first);
        List<Long> expected = new ArrayList<>();
        for (long page = 0x10_0000; page < end; page += PAGE) {
            expected.add(page);
        }
        assertThat(pages).isEqualTo(expected);
    }
}
