package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

/** iommu:INV-1 and INV-3. */
class IotlbTest {
    private static long translation(long physAddr, int level) {
        return physAddr | (long) level << 2 | 3;
    }

    @Test
    void anEntryIsFoundByItsDomainAndPageOnly() {
        Iotlb iotlb = new Iotlb(new VtdFeatures.CacheShape(64, 1));
        iotlb.fill(5, 0x1234, translation(0x80_0000, 1));

        assertThat(iotlb.lookup(5, 0x1fff)).isEqualTo(translation(0x80_0000, 1));
        assertThat(iotlb.lookup(6, 0x1234)).isEqualTo(Iotlb.MISS);
        assertThat(iotlb.lookup(5, 0x2000)).isEqualTo(Iotlb.MISS);
        assertThat(iotlb.held()).isEqualTo(1);
    }

    @Test
    void largePagesAnswerForAllTheirAddresses() {
        Iotlb iotlb = new Iotlb(new VtdFeatures.CacheShape(64, 1));
        iotlb.fill(5, 0x4012_3456, translation(0x8000_0000L, 2));
        iotlb.fill(5, 0x1_2345_6789L, translation(0xc000_0000L, 3));

        assertThat(iotlb.lookup(5, 0x4000_0000)).isEqualTo(translation(0x8000_0000L, 2));
        assertThat(iotlb.lookup(5, 0x4020_0000)).isEqualTo(Iotlb.MISS);
        assertThat(iotlb.lookup(5, 0x1_3fff_ffffL)).isEqualTo(translation(0xc000_0000L, 3));
    }

    @Test
    void oneEntryIsEnough() {
        Iotlb iotlb = new Iotlb(new VtdFeatures.CacheShape(1, 1));
        iotlb.fill(5, 0x1000, translation(0x80_0000, 1));
        iotlb.fill(5, 0x2000, translation(0x90_0000, 1));

        assertThat(iotlb.lookup(5, 0x1000)).isEqualTo(Iotlb.MISS);
        assertThat(iotlb.lookup(5, 0x2000)).isEqualTo(translation(0x90_0000, 1));
        iotlb.invalidatePages(5, 0x2000, 0);
        assertThat(iotlb.held()).isZero();
    }

    @Test
    void theHighestAddressesAreKeptApart() {
        Iotlb iotlb = new Iotlb(new VtdFeatures.CacheShape(256, 1));
        long top = (1L << 57) - 4096;
        iotlb.fill(0xffff, top, translation(0x80_0000, 1));

        assertThat(iotlb.lookup(0xffff, top)).isEqualTo(translation(0x80_0000, 1));
        assertThat(iotlb.lookup(0xfffe, top)).isEqualTo(Iotlb.MISS);
        assertThat(iotlb.lookup(0xffff, top - (1L << 56))).isEqualTo(Iotlb.MISS);
        iotlb.invalidatePages(0xffff, top, 0);
        assertThat(iotlb.lookup(0xffff, top)).isEqualTo(Iotlb.MISS);
    }

    /** A run of buffers, the usual case, must not displace itself while there is room for twice as much. */
    @Property(tries = 300)
    void pagesInARowSpreadOverTheSets(
            @ForAll @LongRange(min = 0, max = (1L << 44) - 512) long firstPage,
            @ForAll @IntRange(min = 0, max = 0xffff) int domainId) {
        Iotlb iotlb = new Iotlb(new VtdFeatures.CacheShape(1024, 4));
        for (long page = firstPage; page < firstPage + 512; page++) {
            iotlb.fill(domainId, page << 12, translation(page << 12, 1));
        }
        assertThat(iotlb.held()).isEqualTo(512);
    }

    /** Whatever the range, exactly the translations that overlap it go. */
    @Property(tries = 300)
    void aPageSelectiveInvalidationDropsWhatOverlapsAndNothingElse(
            @ForAll @LongRange(min = 0, max = 0x1fff) long firstPage, @ForAll @IntRange(min = 0, max = 52) int order) {
        Iotlb iotlb = new Iotlb(new VtdFeatures.CacheShape(4096, 1));
        Map<Long, Integer> levels = new HashMap<>();
        for (long page = 0; page < 0x2000; page += 37) {
            int level = page < 0x1000 ? 1 : 2;
            iotlb.fill(3, page << 12, translation(0x1_0000_0000L, level));
            iotlb.fill(4, page << 12, translation(0x1_0000_0000L, level));
            levels.put(page, level);
        }
        Map<Long, Boolean> heldBefore = new HashMap<>();
        levels.keySet().forEach(page -> heldBefore.put(page, iotlb.lookup(3, page << 12) != Iotlb.MISS));

        iotlb.invalidatePages(3, firstPage << 12, order);

        long count = 1L << order;
        long first = firstPage & -count;
        levels.forEach((page, level) -> {
            long span = level == 1 ? 1 : 512;
            long start = page & -span;
            boolean overlaps = start < first + count && first < start + span;
            boolean held = iotlb.lookup(3, page << 12) != Iotlb.MISS;
            assertThat(held)
                    .as("page %x level %d", page, level)
                    .isEqualTo(heldBefore.getOrDefault(page, false) && !overlaps);
        });
    }

    @Test
    void aDomainGoesWithoutTheOthers() {
        Iotlb iotlb = new Iotlb(new VtdFeatures.CacheShape(1024, 1));
        for (int i = 0; i < 100; i++) {
            iotlb.fill(3, i * 4096L, translation(0x80_0000, 1));
            iotlb.fill(4, i * 4096L, translation(0x80_0000, 1));
        }
        int of4 = 0;
        for (int i = 0; i < 100; i++) {
            of4 += iotlb.lookup(4, i * 4096L) == Iotlb.MISS ? 0 : 1;
        }

        iotlb.invalidateDomain(3);

        assertThat(iotlb.held()).isEqualTo(of4).isGreaterThan(50);
        iotlb.invalidateAll();
        assertThat(iotlb.held()).isZero();
    }
}
