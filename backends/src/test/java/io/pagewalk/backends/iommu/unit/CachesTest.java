package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.backends.iommu.unit.VtdFeatures.CacheShape;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * What a unit remembers beside translations: table entries, and in caching mode what is not there. iommu:INV-1, INV-3.
 */
class CachesTest {
    private static final long ROOT = 0x1000;
    private static final long CONTEXT = 0x2000;
    private static final long LEVEL3 = 0x3000;
    private static final long LEVEL2 = 0x4000;
    private static final long LEVEL1 = 0x5000;
    private static final long OTHER1 = 0x6000;
    private static final int REQUESTER = 0x310;
    private static final int DOMAIN = 7;

    private final PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(16 << 20), 4096);
    private final VtdFeatures features = VtdFeatures.of(BackendOptions.NONE
            .with("iommu.widthBits", 39)
            .with("iommu.iotlbEntries", 4)
            .with("iommu.pagingCacheEntries", 8));
    private VtdUnit unit = new VtdUnit(memory, features);
    private BusPort port = unit.port(REQUESTER, new TableMemory(memory));

    /** Three levels, behind requester 03:02.0; page n of the first 512 is at 8 MiB + n pages. */
    @BeforeEach
    void setUp() {
        memory.putLong(ROOT + 3 * 16, CONTEXT | 1);
        memory.putLong(CONTEXT + 0x10 * 16, LEVEL3 | 1);
        memory.putLong(CONTEXT + 0x10 * 16 + 8, 0x701);
        memory.putLong(LEVEL3, LEVEL2 | 3);
        memory.putLong(LEVEL2, LEVEL1 | 3);
        for (int i = 0; i < 512; i++) {
            memory.putLong(LEVEL1 + 8L * i, 0x80_0000 + 4096L * i | 3);
            memory.putLong(OTHER1 + 8L * i, 0xa0_0000 + 4096L * i | 3);
        }
        start();
    }

    private void start() {
        unit.write64(VtdRegisters.RTADDR, ROOT);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_SRTP);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE);
    }

    private void rebuild(VtdFeatures changed) {
        unit = new VtdUnit(memory, changed);
        port = unit.port(REQUESTER, new TableMemory(memory));
        start();
    }

    private long read(long iova) {
        return port.translate(iova, Access.READ);
    }

    /** Invalidates one page by the registers. */
    private void invalidatePage(long iova, boolean leafOnly) {
        unit.write64(VtdRegisters.IVA, InvalidationLayout.pages(iova, 0, leafOnly));
        unit.write64(VtdRegisters.IOTLB, VtdRegisters.IOTLB_IVT | 3L << 60 | (long) DOMAIN << 32);
    }

    private void invalidate(int granularity, int domainId) {
        unit.write64(VtdRegisters.IOTLB, VtdRegisters.IOTLB_IVT | (long) granularity << 60 | (long) domainId << 32);
    }

    private long metric(Metric metric) {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        unit.report(numbers::put);
        return numbers.getOrDefault(metric, -1L);
    }

    // ---- associativity

    @Test
    void aSetHoldsAsManyPagesAsItHasWays() {
        Iotlb iotlb = new Iotlb(new CacheShape(4, 4));
        for (int page = 1; page <= 4; page++) {
            iotlb.fill(5, page * 4096L, page << 20 | 7);
        }
        for (int page = 1; page <= 4; page++) {
            assertThat(iotlb.lookup(5, page * 4096L)).isEqualTo(page << 20 | 7);
        }
        assertThat(iotlb.held()).isEqualTo(4);
    }

    @Test
    void afterThatTheOldestGoesFirst() {
        Iotlb iotlb = new Iotlb(new CacheShape(4, 4));
        for (int page = 1; page <= 6; page++) {
            iotlb.fill(5, page * 4096L, page << 20 | 7);
        }
        assertThat(iotlb.lookup(5, 0x1000)).isEqualTo(Iotlb.MISS);
        assertThat(iotlb.lookup(5, 0x2000)).isEqualTo(Iotlb.MISS);
        for (int page = 3; page <= 6; page++) {
            assertThat(iotlb.lookup(5, page * 4096L)).isEqualTo(page << 20 | 7);
        }
        for (int page = 7; page <= 10; page++) {
            iotlb.fill(5, page * 4096L, page << 20 | 7);
            assertThat(iotlb.held()).isEqualTo(4);
        }
        assertThat(iotlb.lookup(5, 0x6000)).isEqualTo(Iotlb.MISS);
        assertThat(iotlb.lookup(5, 0x7000)).isEqualTo(7 << 20 | 7);
    }

    @Test
    void aPageThatIsFilledAgainTakesItsOwnPlace() {
        Iotlb iotlb = new Iotlb(new CacheShape(4, 4));
        for (int page = 1; page <= 4; page++) {
            iotlb.fill(5, page * 4096L, page << 20 | 7);
        }
        iotlb.fill(5, 0x3000, 0x700_0007);
        assertThat(iotlb.lookup(5, 0x3000)).isEqualTo(0x700_0007);
        assertThat(iotlb.held()).isEqualTo(4);
        iotlb.invalidatePages(5, 0x3000, 0);
        iotlb.fill(5, 0x9000, 0x900_0007);
        assertThat(iotlb.lookup(5, 0x1000)).as("a free way comes first").isEqualTo(1 << 20 | 7);
        assertThat(iotlb.held()).isEqualTo(4);
    }

    @Test
    void shapesThatCannotBeAreRefused() {
        assertThatThrownBy(() -> new CacheShape(3, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a VT-d unit has a power of two of cache entries, or 0, not 3");
        assertThatThrownBy(() -> new CacheShape(1 << 21, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new CacheShape(-2147483648, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new CacheShape(4, 8))
                .hasMessage("a VT-d unit has a power of two of ways, at most all entries, not 8");
        assertThatThrownBy(() -> new CacheShape(4, 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new CacheShape(4, 3)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> VtdFeatures.DEFAULT.withIotlb(0, 1))
                .hasMessage("a VT-d unit has at least one IOTLB entry, not 0");
        assertThat(VtdFeatures.DEFAULT.withIotlb(1 << 20, 1).iotlb().entries()).isEqualTo(1 << 20);
        assertThat(VtdFeatures.of(BackendOptions.NONE.with("iommu.iotlbEntries", 2))
                        .iotlb())
                .as("fewer entries than ways")
                .isEqualTo(new CacheShape(2, 2));
        assertThat(VtdFeatures.of(
                        BackendOptions.NONE
                                .with("iommu.pagingCacheEntries", 0)
                                .with("iommu.unit1.iotlbWays", 16)
                                .with("iommu.unit1.cachingMode", 1),
                        1))
                .isEqualTo(VtdFeatures.DEFAULT
                        .withIotlb(256, 16)
                        .withPagingCache(0, 1)
                        .withCachingMode(true));
    }

    // ---- paging structures

    @Test
    @DisplayName("INV-3: with IH, what is known of upper levels stays in use; without, it goes")
    void anInvalidationOfLeavesKeepsTheWayToTheirTable() {
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
        assertThat(unit.pagingCacheHeld()).isEqualTo(2);
        memory.putLong(LEVEL2, OTHER1 | 3);

        assertThat(read(0x2000)).as("through the old table").isEqualTo(0x80_2000);
        invalidatePage(0x1000, true);
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
        invalidatePage(0x1000, false);
        assertThat(read(0x1000)).isEqualTo(0xa0_1000);
        assertThat(read(0x2000)).as("its translation was not covered").isEqualTo(0x80_2000);
        assertThat(read(0x3000)).isEqualTo(0xa0_3000);
    }

    @Test
    @DisplayName("INV-3: invalidations of a domain, and of all, take upper levels along; those of others do not")
    void invalidationsOfADomainTakeUpperLevelsAlong() {
        read(0x1000);
        memory.putLong(LEVEL3, 0);
        invalidate(2, DOMAIN + 1);
        assertThat(read(0x2000)).isEqualTo(0x80_2000);
        invalidate(2, DOMAIN);
        assertThat(read(0x2000)).isEqualTo(BusPort.fault(6));
        memory.putLong(LEVEL3, LEVEL2 | 3);
        read(0x1000);
        memory.putLong(LEVEL3, 0);
        assertThat(read(0x2000)).isEqualTo(0x80_2000);
        invalidate(1, 0);
        assertThat(read(0x2000)).isEqualTo(BusPort.fault(6));
        assertThat(unit.pagingCacheHeld()).isZero();
    }

    @Test
    void anEntryThatAllowsTooLittleIsReadAgain() {
        memory.putLong(LEVEL2, LEVEL1 | 1);
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
        assertThat(port.translate(0x1000, Access.WRITE)).isEqualTo(BusPort.fault(5));
        memory.putLong(LEVEL2, LEVEL1 | 3);
        assertThat(port.translate(0x1000, Access.WRITE)).isEqualTo(0x80_1000);
        memory.putLong(LEVEL2, LEVEL1 | 1);
        assertThat(port.translate(0x2000, Access.ATOMIC)).as("cached with both").isEqualTo(0x80_2000);
    }

    @Test
    void permissionsOfTheWayAreKeptWithIt() {
        memory.putLong(LEVEL3, LEVEL2 | 1);
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
        assertThat(port.translate(0x2000, Access.WRITE)).isEqualTo(BusPort.fault(5));
        assertThat(read(0x2000)).isEqualTo(0x80_2000);
        assertThat(port.translate(0x2000, Access.WRITE)).isEqualTo(BusPort.fault(5));
    }

    @Test
    void badEntriesAreNotKept() {
        memory.putLong(LEVEL2, 0x4000_0003L);
        assertThat(read(0x1000)).isEqualTo(BusPort.fault(7));
        memory.putLong(LEVEL2, LEVEL1 | 1L << 51 | 3);
        memory.putLong(LEVEL2 + 8, 1L << 7 | 1L << 12 | 3);
        assertThat(read(0x20_0000)).isEqualTo(BusPort.fault(0xc));
        memory.putLong(LEVEL2, LEVEL1 | 3);
        invalidatePage(0, false);
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
        assertThat(unit.iotlbHeld()).isEqualTo(1);
    }

    @Test
    void withoutPagingCachesEachWalkReadsEachLevel() {
        rebuild(features.withPagingCache(0, 1));
        read(0x1000);
        memory.putLong(LEVEL2, OTHER1 | 3);
        assertThat(read(0x2000)).isEqualTo(0xa0_2000);
        assertThat(unit.pagingCacheHeld()).isZero();
    }

    // ---- caching mode

    @Test
    @DisplayName("INV-1: in caching mode a page that is not there stays so until it is invalidated")
    void cachingModeRemembersWhatIsNotMapped() {
        rebuild(features.withCachingMode(true));
        assertThat(unit.read64(VtdRegisters.CAP) >>> 7 & 1).isEqualTo(1);
        memory.putLong(LEVEL1 + 8, 0);
        assertThat(read(0x1000)).isEqualTo(BusPort.fault(6));
        memory.putLong(LEVEL1 + 8, 0x80_1003);

        assertThat(read(0x1234)).isEqualTo(BusPort.fault(6));
        assertThat(port.translate(0x1000, Access.WRITE)).isEqualTo(BusPort.fault(5));
        assertThat(port.translate(0x1000, Access.ATOMIC)).isEqualTo(BusPort.fault(5));
        assertThat(metric(Metric.TRANSLATION_FAULTS)).isEqualTo(4);
        assertThat(metric(Metric.IOTLB_HITS)).isEqualTo(3);
        invalidatePage(0x1000, true);
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
    }

    @Test
    void cachingModeDoesNotTakeAMissingRightForAMissingPage() {
        rebuild(features.withCachingMode(true));
        memory.putLong(LEVEL1 + 8, 0x80_1001);
        assertThat(port.translate(0x1000, Access.WRITE)).isEqualTo(BusPort.fault(5));
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
        memory.putLong(LEVEL1 + 8, 0x80_1003);
        assertThat(port.translate(0x1000, Access.WRITE)).isEqualTo(0x80_1000);
    }

    @Test
    void withoutCachingModeNothingIsRememberedOfFaults() {
        memory.putLong(LEVEL1 + 8, 0);
        assertThat(read(0x1000)).isEqualTo(BusPort.fault(6));
        assertThat(unit.iotlbHeld()).isZero();
        memory.putLong(LEVEL1 + 8, 0x80_1003);
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
    }

    @Test
    @DisplayName("INV-1, CTX-5: in caching mode a context entry that is not present is remembered under domain 0")
    void cachingModeRemembersContextsThatAreNotPresent() {
        rebuild(features.withCachingMode(true));
        long slot = CONTEXT + 0x10 * 16;
        memory.putLong(slot, LEVEL3);
        assertThat(read(0x1000)).isEqualTo(BusPort.fault(2));
        memory.putLong(slot, LEVEL3 | 1);

        assertThat(read(0x1000)).isEqualTo(BusPort.fault(2));
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 3L << 61 | (long) REQUESTER << 16 | DOMAIN);
        assertThat(read(0x1000)).as("under another domain").isEqualTo(BusPort.fault(2));
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 3L << 61 | (long) REQUESTER << 16);
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
        memory.putLong(slot, LEVEL3);
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 3L << 61 | (long) REQUESTER << 16 | DOMAIN);
        assertThat(read(0x1000)).isEqualTo(BusPort.fault(2));
        memory.putLong(slot, LEVEL3 | 1);
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 2L << 61);
        assertThat(read(0x1000)).as("by the domain 0").isEqualTo(0x80_1000);
    }

    @Test
    void otherFaultsOfContextsAreNotRemembered() {
        rebuild(features.withCachingMode(true));
        memory.putLong(CONTEXT + 0x10 * 16 + 8, 0x702);
        assertThat(read(0x1000)).isEqualTo(BusPort.fault(3));
        memory.putLong(CONTEXT + 0x10 * 16 + 8, 0x701);
        assertThat(read(0x1000)).isEqualTo(0x80_1000);
    }

    // ---- requests of devices for translations

    @Test
    @DisplayName("E4, FLT-4: reason 0x0d for a device's own request for a translation, after what is wrong before it")
    void aDeviceMayNotTranslateForItself() {
        TableMemory tables = new TableMemory(memory);
        assertThat(unit.translateForDevice(REQUESTER, tables, 0x1000, Access.READ))
                .isEqualTo(BusPort.fault(0xd));
        assertThat(unit.read64(VtdRegisters.FRCD)).isEqualTo(0x1000);
        assertThat(unit.read64(VtdRegisters.FRCD + 8) >>> 32 & 0xff).isEqualTo(0xd);
        memory.putLong(CONTEXT + 0x10 * 16, 0);
        assertThat(unit.translateForDevice(REQUESTER, tables, 0x1000, Access.READ))
                .isEqualTo(BusPort.fault(2));
        memory.putLong(CONTEXT + 0x10 * 16, LEVEL3 | 3);
        assertThat(unit.translateForDevice(REQUESTER, tables, 0x1000, Access.WRITE))
                .isEqualTo(BusPort.fault(0xd));
        assertThat(metric(Metric.TRANSLATION_FAULTS)).isEqualTo(3);
        assertThat(unit.read64(VtdRegisters.FRCD + 2 * 16 + 8))
                .as("FPD: not recorded")
                .isZero();
    }
}
