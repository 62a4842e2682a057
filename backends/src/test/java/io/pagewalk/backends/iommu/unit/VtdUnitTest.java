package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.memory.PhysicalMemory;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.Metric;
import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The unit by itself: what it makes of registers and of bytes that no driver would write. */
class VtdUnitTest {
    private static final long ROOT = 0x1000;
    private static final long CONTEXT = 0x2000;
    private static final long LEVEL3 = 0x3000;
    private static final long LEVEL2 = 0x4000;
    private static final long LEVEL1 = 0x5000;
    private static final long QUEUE = 0x6000;
    private static final long STATUS = 0x7000;
    private static final int REQUESTER = 0x310;
    private static final int DOMAIN = 7;
    private static final long NOT_RAM = 0x4000_0000L;

    private final PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(16 << 20), 4096);
    private VtdUnit unit = unit(features(39, 2, 40, 16, 2, 18, true));
    private BusPort port = port(REQUESTER);

    /** A direct-mapped IOTLB, no paging-structure caches. */
    private static VtdFeatures features(
            int width, int largeLevels, int hostBits, int entries, int records, int addressMask, boolean snoops) {
        return new VtdFeatures(
                width,
                largeLevels,
                hostBits,
                new VtdFeatures.CacheShape(entries, 1),
                VtdFeatures.CacheShape.NONE,
                records,
                addressMask,
                snoops,
                true,
                false);
    }

    private VtdUnit unit(VtdFeatures features) {
        return new VtdUnit(memory, features);
    }

    private BusPort port(int requesterId) {
        return unit.port(requesterId, new TableMemory(memory));
    }

    /** Three levels with one page at IOVA 0x1000, behind requester 03:02.0, translation on. */
    @BeforeEach
    void setUp() {
        memory.putLong(ROOT + 3 * 16, CONTEXT | 1);
        putContext(LEVEL3 | 1, 0x701);
        memory.putLong(LEVEL3, LEVEL2 | 3);
        memory.putLong(LEVEL2, LEVEL1 | 3);
        memory.putLong(LEVEL1 + 8, 0x80_0003);
        start(unit);
    }

    private void start(VtdUnit started) {
        started.write64(VtdRegisters.RTADDR, ROOT);
        started.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_SRTP);
        started.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE);
    }

    private void rebuild(VtdFeatures features) {
        unit = unit(features);
        port = port(REQUESTER);
        start(unit);
    }

    private void putContext(long low, long high) {
        memory.putLong(CONTEXT + 0x10 * 16, low);
        memory.putLong(CONTEXT + 0x10 * 16 + 8, high);
    }

    private long read(long iova) {
        return port.translate(iova, Access.READ);
    }

    private void assertFault(int reason, Access access, long iova) {
        assertThat(port.translate(iova, access)).isEqualTo(BusPort.fault(reason));
        assertThat(latestReason()).isEqualTo(reason);
    }

    private int latestReason() {
        int latest = 0;
        for (int i = 0; i < 2; i++) {
            long high = unit.read64(VtdRegisters.FRCD + 16 * i + 8);
            if (high < 0) {
                latest = (int) (high >>> 32) & 0xff;
                unit.write64(VtdRegisters.FRCD + 16 * i + 8, 1L << 63);
            }
        }
        return latest;
    }

    private long metric(Metric metric) {
        Map<Metric, Long> numbers = new EnumMap<>(Metric.class);
        unit.report(numbers::put);
        return numbers.getOrDefault(metric, -1L);
    }

    // ---- reasons (FLT-4, FLT-5)

    @Test
    void reason1WhenTheBusHasNoContextTable() {
        memory.putLong(ROOT + 3 * 16, CONTEXT);

        assertFault(1, Access.READ, 0x1000);
    }

    @Test
    void reason2WhenTheContextEntryIsNotPresent() {
        putContext(LEVEL3, 0x701);

        assertFault(2, Access.READ, 0x1000);
    }

    @Test
    void reason3WhenWidthOrTypeIsNotSupported() {
        putContext(LEVEL3 | 1, 0x702);
        assertFault(3, Access.READ, 0x1000);
        putContext(LEVEL3 | 1 | 1 << 2, 0x701);
        assertFault(3, Access.READ, 0x1000);
        putContext(LEVEL3 | 1 | 3 << 2, 0x701);
        assertFault(3, Access.READ, 0x1000);
    }

    @Test
    void reason4BeyondTheWidth() {
        assertFault(4, Access.READ, 1L << 39);
        assertFault(4, Access.READ, -1L);
        assertFault(6, Access.READ, (1L << 39) - 1);
    }

    @Test
    void reasons5And6WhenAPermissionIsMissingAnywhereOnTheWay() {
        memory.putLong(LEVEL1 + 8, 0x80_0001);
        assertFault(5, Access.WRITE, 0x1000);
        assertFault(5, Access.ATOMIC, 0x1000);
        memory.putLong(LEVEL1 + 8, 0x80_0002);
        assertFault(6, Access.READ, 0x1000);
        assertFault(6, Access.ATOMIC, 0x1000);
        memory.putLong(LEVEL1 + 8, 0x80_0003);
        memory.putLong(LEVEL2, LEVEL1 | 1);
        assertFault(5, Access.WRITE, 0x1000);
        assertThat(read(0x1000)).isEqualTo(0x80_0000);
        memory.putLong(LEVEL2, 0);
        assertFault(5, Access.WRITE, 0x1000);
        assertFault(5, Access.ATOMIC, 0x1000);
        assertFault(6, Access.READ, 0x20_0000);
    }

    @Test
    void reason7WhenATablePointerLeadsNowhere() {
        memory.putLong(LEVEL2, NOT_RAM | 3);

        assertFault(7, Access.READ, 0x1000);
    }

    @Test
    void reason8WhenTheRootTableIsNowhere() {
        unit.write64(VtdRegisters.RTADDR, NOT_RAM);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE | VtdRegisters.GCMD_SRTP);

        assertFault(8, Access.READ, 0x1000);
    }

    @Test
    void reason9WhenTheContextTableIsNowhere() {
        memory.putLong(ROOT + 3 * 16, NOT_RAM | 1);

        assertFault(9, Access.READ, 0x1000);
    }

    @Test
    void reasonsAToCWhenReservedBitsAreSetInPresentEntries() {
        memory.putLong(ROOT + 3 * 16 + 8, 1);
        assertFault(0xa, Access.READ, 0x1000);
        memory.putLong(ROOT + 3 * 16 + 8, 0);
        memory.putLong(ROOT + 3 * 16, CONTEXT | 3);
        assertFault(0xa, Access.READ, 0x1000);
        memory.putLong(ROOT + 3 * 16, CONTEXT | 1);
        putContext(LEVEL3 | 0x11, 0x701);
        assertFault(0xb, Access.READ, 0x1000);
        putContext(LEVEL3 | 1, 1L << 24 | 0x701);
        assertFault(0xb, Access.READ, 0x1000);
        putContext(LEVEL3 | 1, 0x701);
        memory.putLong(LEVEL1 + 8, 1L << 40 | 0x80_0003);
        assertFault(0xc, Access.READ, 0x1000);
        memory.putLong(LEVEL2, 1L << 40 | LEVEL1 | 3);
        assertFault(0xc, Access.READ, 0x1000);
        memory.putLong(LEVEL2, 0x80_1083);
        assertFault(0xc, Access.READ, 0x1000);
        memory.putLong(LEVEL3, 0x20_0083);
        assertFault(0xc, Access.READ, 0x1000);
    }

    /** iommu:FLT-7. */
    @Test
    void largePagesAndSnoopingAreReservedWhereTheUnitLacksThem() {
        rebuild(features(39, 0, 40, 16, 2, 18, false));
        memory.putLong(LEVEL1 + 8, 0x80_0803);
        assertFault(0xc, Access.READ, 0x1000);
        memory.putLong(LEVEL2, 0x80_0083);
        assertFault(0xc, Access.READ, 0x1000);
        memory.putLong(LEVEL3, 0x4000_0083);
        assertFault(0xc, Access.READ, 0x1000);
        rebuild(features(39, 1, 40, 16, 2, 18, true));
        memory.putLong(LEVEL3, LEVEL2 | 3);
        memory.putLong(LEVEL2, 0x80_0883);
        assertThat(read(0x1234)).isEqualTo(0x80_1234);
    }

    @Test
    void bitsThatHardwareIgnoresDoNotMatter() {
        memory.putLong(LEVEL1 + 8, 1L << 63 | 0x3ffL << 52 | 0x80_0083);

        assertThat(read(0x1008)).isEqualTo(0x80_0008);
    }

    @Test
    void permissionsComeBeforeReservedBits() {
        memory.putLong(LEVEL1 + 8, 1L << 40 | 0x80_0001);

        assertFault(5, Access.WRITE, 0x1000);
    }

    /** iommu:FLT-6. */
    @Test
    void faultsBehindAContextWithFpdAreCountedAndNotRecorded() {
        putContext(LEVEL3 | 3, 0x701);

        assertThat(read(0x2000)).isEqualTo(BusPort.fault(6));
        putContext(LEVEL3 | 3, 0x702);
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 1L << 61);
        assertThat(read(0x2000)).isEqualTo(BusPort.fault(3));

        assertThat(latestReason()).isZero();
        assertThat(metric(Metric.TRANSLATION_FAULTS)).isEqualTo(2);
    }

    @Test
    void everyReasonHasAText() {
        for (int reason = 1; reason <= 0xe; reason++) {
            assertThat(port.faultText(reason)).isNotEqualTo("unknown");
        }
        assertThat(port.faultText(5)).isEqualTo("PTE Write access is not set");
        assertThat(port.faultText(0x7f)).isEqualTo("unknown");
    }

    // ---- fault records (FLT-1, FLT-2)

    @Test
    void aRecordHoldsPageRequesterTypeAndReason() {
        port.translate(0x2345, Access.READ);

        assertThat(unit.read64(VtdRegisters.FRCD)).isEqualTo(0x2000);
        assertThat(unit.read64(VtdRegisters.FRCD + 8)).isEqualTo(1L << 63 | 1L << 62 | 6L << 32 | REQUESTER);
        assertThat(unit.read32(VtdRegisters.FSTS)).isEqualTo(VtdRegisters.FSTS_PPF);
        port.translate(0x3345, Access.WRITE);
        assertThat(unit.read64(VtdRegisters.FRCD + 24)).isEqualTo(1L << 63 | 5L << 32 | REQUESTER);
    }

    @Test
    void aFaultWithoutAFreeRecordIsLostAndSaysSo() {
        port.translate(0x2000, Access.READ);
        port.translate(0x3000, Access.READ);
        port.translate(0x4000, Access.READ);

        assertThat(unit.read32(VtdRegisters.FSTS)).isEqualTo(VtdRegisters.FSTS_PPF | VtdRegisters.FSTS_PFO);
        assertThat(unit.read64(VtdRegisters.FRCD)).isEqualTo(0x2000);
        assertThat(metric(Metric.TRANSLATION_FAULTS)).isEqualTo(3);
        unit.write32(VtdRegisters.FRCD + 12, 1 << 31);
        assertThat(unit.read32(VtdRegisters.FSTS)).isEqualTo(VtdRegisters.FSTS_PPF | VtdRegisters.FSTS_PFO | 1 << 8);
        unit.write32(VtdRegisters.FRCD + 28, 1 << 31);
        unit.write32(VtdRegisters.FSTS, 0x83);
        assertThat(unit.read32(VtdRegisters.FSTS)).isZero();
        port.translate(0x5000, Access.READ);
        assertThat(unit.read64(VtdRegisters.FRCD)).isEqualTo(0x5000);
    }

    @Test
    void writingTheOtherBitsOfARecordChangesNothing() {
        port.translate(0x2000, Access.READ);

        unit.write32(VtdRegisters.FRCD + 8, -1);
        unit.write64(VtdRegisters.FRCD, -1L);

        assertThat(unit.read64(VtdRegisters.FRCD)).isEqualTo(0x2000);
        assertThat(unit.read32(VtdRegisters.FRCD + 12)).isNegative();
    }

    @Test
    void theFirstRecordInUseInterruptsOnceAndAfterTheAccess() {
        AtomicInteger interrupts = new AtomicInteger();
        unit.onFaultEvent(interrupts::incrementAndGet);
        unit.write32(VtdRegisters.FECTL, 0);

        port.translate(0x2000, Access.READ);
        assertThat(interrupts).hasValue(0);
        assertThat(unit.read32(VtdRegisters.FECTL)).as("pending").isEqualTo(1 << 30);
        port.afterBlocked();
        assertThat(interrupts).hasValue(1);
        assertThat(unit.read32(VtdRegisters.FECTL)).isZero();
        port.translate(0x3000, Access.READ);
        port.afterBlocked();
        assertThat(interrupts).as("a record is in use already").hasValue(1);
        unit.write32(VtdRegisters.FRCD + 12, 1 << 31);
        unit.write32(VtdRegisters.FRCD + 28, 1 << 31);
        port.translate(0x3000, Access.READ);
        port.afterBlocked();
        assertThat(interrupts).hasValue(2);
    }

    @Test
    void aMaskedInterruptWaitsForItsMaskToGoUnlessTheRecordsAreFreed() {
        AtomicInteger interrupts = new AtomicInteger();
        unit.onFaultEvent(interrupts::incrementAndGet);
        assertThat(unit.read32(VtdRegisters.FECTL)).as("after power-on").isEqualTo(VtdRegisters.FECTL_IM);

        port.translate(0x2000, Access.READ);
        port.afterBlocked();
        assertThat(interrupts).hasValue(0);
        assertThat(unit.read32(VtdRegisters.FECTL)).isEqualTo(VtdRegisters.FECTL_IM | 1 << 30);
        unit.write32(VtdRegisters.FECTL, 0);
        assertThat(interrupts).hasValue(1);
        unit.write32(VtdRegisters.FRCD + 12, 1 << 31);
        unit.write32(VtdRegisters.FECTL, VtdRegisters.FECTL_IM);
        port.translate(0x2000, Access.READ);
        unit.write32(VtdRegisters.FRCD + 28, 1 << 31);
        assertThat(unit.read32(VtdRegisters.FECTL)).as("withdrawn").isEqualTo(VtdRegisters.FECTL_IM);
        unit.write32(VtdRegisters.FECTL, 0);
        assertThat(interrupts).hasValue(1);
    }

    @Test
    void aRecordThatIsFreeCannotBeFreedAgain() {
        unit.write32(VtdRegisters.FRCD + 12, 1 << 31);
        AtomicInteger interrupts = new AtomicInteger();
        unit.onFaultEvent(interrupts::incrementAndGet);
        unit.write32(VtdRegisters.FECTL, 0);
        port.translate(0x2000, Access.READ);
        port.afterBlocked();

        assertThat(interrupts).hasValue(1);
    }

    // ---- special addresses and types

    @Test
    void addressesPassWhileTranslationIsOff() {
        unit.write32(VtdRegisters.GCMD, 0);

        assertThat(read(0x1234)).isEqualTo(0x1234);
        assertThat(port.translate(1L << 50, Access.ATOMIC)).isEqualTo(1L << 50);
        assertThat(read(-8L)).isEqualTo(BusPort.fault(DeviceBus.NOT_RAM));
        assertThat(metric(Metric.IOTLB_LOOKUPS)).isZero();
    }

    @Test
    void passThroughChecksOnlyTheWidth() {
        putContext(ContextLayout.contextLow(0, ContextLayout.TT_PASS_THROUGH), ContextLayout.contextHigh(1, 1));

        assertThat(port.translate(0x80_1234, Access.ATOMIC)).isEqualTo(0x80_1234);
        assertFault(4, Access.READ, 1L << 39);
    }

    /** iommu:FLT-8. */
    @Test
    void theInterruptRangeIsNeverMemory() {
        memory.putLong(LEVEL3 + 3 * 8, 0xc000_0083L);

        assertThat(port.translate(0xfee0_0000L, Access.WRITE)).isEqualTo(BusPort.fault(0x200));
        assertThat(port.translate(0xfeef_ffffL, Access.WRITE)).isEqualTo(BusPort.fault(0x200));
        assertThat(metric(Metric.TRANSLATION_FAULTS)).isZero();
        assertFault(0xe, Access.READ, 0xfee0_0000L);
        assertThat(read(0xfedf_ffffL)).isEqualTo(0xfedf_ffffL);
        assertThat(read(0xfef0_0000L)).isEqualTo(0xfef0_0000L);
        unit.write32(VtdRegisters.GCMD, 0);
        assertThat(port.translate(0xfee0_0000L, Access.WRITE)).isEqualTo(BusPort.fault(0x200));
    }

    @Test
    void aTranslationIntoTheInterruptRangeIsAnError() {
        memory.putLong(LEVEL1 + 8, 0xfee0_0003L);

        assertFault(0xe, Access.WRITE, 0x1000);
        assertFault(0xe, Access.WRITE, 0x1000);
    }

    // ---- caches and registers

    @Test
    void aContextEntryStaysInUseUntilItIsInvalidated() {
        read(0x1000);
        putContext(0, 0);

        assertThat(read(0x1000)).isEqualTo(0x80_0000);
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 3L << 61 | (REQUESTER ^ 8L) << 16);
        assertThat(read(0x1000)).as("another device").isEqualTo(0x80_0000);
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 2L << 61 | (DOMAIN + 1));
        assertThat(read(0x1000)).as("another domain").isEqualTo(0x80_0000);
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 3L << 61 | (long) REQUESTER << 16);
        assertThat(unit.read64(VtdRegisters.CCMD)).isEqualTo(3L << 61 | 3L << 59 | (long) REQUESTER << 16);
        assertFault(2, Access.READ, 0x1000);
    }

    @Test
    void contextsAreForgottenByDomain() {
        read(0x1000);
        putContext(0, 0);

        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 2L << 61 | DOMAIN);

        assertFault(2, Access.READ, 0x1000);
    }

    @Test
    void theFunctionMaskWidensADeviceInvalidation() {
        int function5 = REQUESTER | 5;
        memory.putLong(CONTEXT + 0x15 * 16 + 8, 0x701);
        memory.putLong(CONTEXT + 0x15 * 16, LEVEL3 | 1);
        port = port(function5);
        read(0x1000);
        memory.putLong(CONTEXT + 0x15 * 16, 0);

        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 3L << 61 | 1L << 32 | (long) REQUESTER << 16);
        assertThat(read(0x1000)).as("bit 2 masked, bit 0 differs").isEqualTo(0x80_0000);
        unit.write64(VtdRegisters.CCMD, VtdRegisters.CCMD_ICC | 3L << 61 | 3L << 32 | (long) REQUESTER << 16);
        assertFault(2, Access.READ, 0x1000);
    }

    @Test
    void anEntryThatIsNotPresentIsNotCached() {
        putContext(0, 0);
        assertFault(2, Access.READ, 0x1000);
        putContext(LEVEL3 | 1, 0x701);

        assertThat(read(0x1000)).isEqualTo(0x80_0000);
        assertThat(read(0x2000)).isEqualTo(BusPort.fault(6));
        memory.putLong(LEVEL1 + 16, 0x90_0003);
        assertThat(read(0x2000)).isEqualTo(0x90_0000);
    }

    @Test
    void theIotlbIsInvalidatedByRegister() {
        read(0x1000);
        memory.putLong(LEVEL1 + 8, 0);

        assertThat(read(0x1000)).isEqualTo(0x80_0000);
        unit.write64(VtdRegisters.IVA, 0x1000);
        unit.write64(VtdRegisters.IOTLB, VtdRegisters.IOTLB_IVT | 3L << 60 | (DOMAIN + 1L) << 32);
        assertThat(read(0x1000)).as("another domain").isEqualTo(0x80_0000);
        unit.write64(VtdRegisters.IOTLB, VtdRegisters.IOTLB_IVT | 3L << 60 | (long) DOMAIN << 32);
        assertThat(unit.read64(VtdRegisters.IOTLB)).isEqualTo(3L << 60 | 3L << 57 | (long) DOMAIN << 32);
        assertThat(read(0x1000)).isEqualTo(BusPort.fault(6));
    }

    @Test
    void aNewRootTableCountsOnlyOnceItIsSet() {
        unit.write64(VtdRegisters.RTADDR, NOT_RAM);

        assertThat(read(0x1000)).isEqualTo(0x80_0000);
    }

    @Test
    void halvesOfWideRegistersAreWrittenOneByOne() {
        unit.write32(VtdRegisters.IQA, 0x6000);
        unit.write32(VtdRegisters.IQA + 4, 0x12);

        assertThat(unit.read64(VtdRegisters.IQA)).isEqualTo(0x12_0000_6000L);
        assertThat(unit.read32(VtdRegisters.IQA + 4)).isEqualTo(0x12);
    }

    @Test
    void readOnlyAndAbsentRegistersIgnoreWrites() {
        long cap = unit.read64(VtdRegisters.CAP);

        unit.write64(VtdRegisters.CAP, 0);
        unit.write64(VtdRegisters.IQH, 0x70);
        unit.write64(0x8000, 5);

        assertThat(unit.read64(VtdRegisters.CAP)).isEqualTo(cap);
        assertThat(unit.read64(VtdRegisters.IQH)).isZero();
        assertThat(unit.read64(0x8000)).isZero();
        assertThat(unit.read32(VtdRegisters.FECTL)).isEqualTo(VtdRegisters.FECTL_IM);
        assertThat(unit.read32(VtdRegisters.VER)).isEqualTo(0x10);
    }

    // ---- the queue (INV-16, INV-17)

    private void enableQueue() {
        unit.write64(VtdRegisters.IQA, QUEUE);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE | VtdRegisters.GCMD_QIE);
    }

    private void descriptor(int index, long low, long high) {
        memory.putLong(QUEUE + 16L * index, low);
        memory.putLong(QUEUE + 16L * index + 8, high);
    }

    private void writeTail(int index) {
        unit.write64(VtdRegisters.IQT, (long) index << 4);
    }

    @Test
    void descriptorsAreDoneInOrderAndTheWaitSaysSo() {
        enableQueue();
        read(0x1000);
        memory.putLong(LEVEL1 + 8, 0);
        descriptor(0, InvalidationLayout.iotlb(InvalidationLayout.PAGES, DOMAIN), 0x1000);
        descriptor(1, InvalidationLayout.waitWriting(2), STATUS);
        descriptor(2, InvalidationLayout.DEVICE_TLB | (long) REQUESTER << 32, 0);
        descriptor(3, InvalidationLayout.INTERRUPT_ENTRY, 0);

        writeTail(1);
        assertThat(memory.getInt(STATUS)).isZero();
        writeTail(4);

        assertThat(memory.getInt(STATUS)).isEqualTo(2);
        assertThat(unit.read64(VtdRegisters.IQH)).isEqualTo(0x40);
        assertThat(read(0x1000)).isEqualTo(BusPort.fault(6));
        assertThat(metric(Metric.INVALIDATIONS_PAGE)).isEqualTo(1);
    }

    @Test
    void theQueueStandsStillAtAnInvalidDescriptorUntilItIsReplaced() {
        enableQueue();
        descriptor(0, InvalidationLayout.iotlb(InvalidationLayout.GLOBAL, 0), 0);
        descriptor(1, 0xf, 0);
        descriptor(2, InvalidationLayout.waitWriting(2), STATUS);

        writeTail(3);

        assertThat(unit.read32(VtdRegisters.FSTS)).isEqualTo(VtdRegisters.FSTS_IQE);
        assertThat(unit.read64(VtdRegisters.IQH)).isEqualTo(0x10);
        assertThat(memory.getInt(STATUS)).isZero();
        descriptor(1, InvalidationLayout.iotlb(InvalidationLayout.DOMAIN, 1), 0);
        unit.write32(VtdRegisters.FSTS, VtdRegisters.FSTS_IQE);
        assertThat(memory.getInt(STATUS)).isEqualTo(2);
        assertThat(unit.read64(VtdRegisters.IQH)).isEqualTo(0x30);
        assertThat(unit.read32(VtdRegisters.FSTS)).isZero();
    }

    @Test
    void reservedGranularitiesAndTooLargeMasksAreInvalid() {
        enableQueue();
        long[][] wrong = {
            {InvalidationLayout.iotlb(0, 0), 0},
            {InvalidationLayout.iotlb(InvalidationLayout.PAGES, 0), 19},
            {InvalidationLayout.context(0, 0, 0), 0},
            {InvalidationLayout.waitWriting(2), NOT_RAM},
            {InvalidationLayout.waitWriting(2), STATUS + 2},
        };
        for (long[] words : wrong) {
            int head = (int) unit.read64(VtdRegisters.IQH) >>> 4;
            descriptor(head, words[0], words[1]);
            writeTail(head + 1);
            assertThat(unit.read32(VtdRegisters.FSTS)).isEqualTo(VtdRegisters.FSTS_IQE);
            descriptor(head, InvalidationLayout.WAIT, 0);
            unit.write32(VtdRegisters.FSTS, VtdRegisters.FSTS_IQE);
            assertThat(unit.read32(VtdRegisters.FSTS)).isZero();
        }
    }

    @Test
    void aQueueOutsideTheRamIsAnError() {
        unit.write64(VtdRegisters.IQA, NOT_RAM);
        unit.write32(VtdRegisters.GCMD, VtdRegisters.GCMD_TE | VtdRegisters.GCMD_QIE);

        writeTail(1);

        assertThat(unit.read32(VtdRegisters.FSTS)).isEqualTo(VtdRegisters.FSTS_IQE);
    }

    @Test
    void aQueueThatIsOffIsNotFetched() {
        descriptor(0, InvalidationLayout.waitWriting(2), STATUS);
        unit.write64(VtdRegisters.IQA, QUEUE);

        writeTail(1);

        assertThat(memory.getInt(STATUS)).isZero();
    }
}
