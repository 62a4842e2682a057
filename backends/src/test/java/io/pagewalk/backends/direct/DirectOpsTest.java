package io.pagewalk.backends.direct;

import static io.pagewalk.dma.Dma.DMA_MAPPING_ERROR;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.AllocatedBytes;
import io.pagewalk.backends.RecordingCache;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaException;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** dma-direct with and without a pool (dma-core:DIR-10 to DIR-40). */
class DirectOpsTest {
    private static final long GIB = 1L << 30;
    private static final long MASK_32 = 0xffff_ffffL;
    private static final long HIGH = 4 * GIB + 0x1_0000;
    private static final long POOL_BASE = 0x1000_0000;

    private static Machine machine(long ramBytes, String backend, String commandLine) {
        return Machine.builder()
                .ramBytes(ramBytes)
                .chunkBytes(1 << 16)
                .commandLine(commandLine)
                .backend(backend)
                .backendOptions(BackendOptions.NONE.with("swiotlb.poolBase", POOL_BASE))
                .build();
    }

    /** 6 GiB: a pool of 256 slots for those who need it. */
    private static Machine bouncing() {
        return machine(6 * GIB, "direct", "swiotlb=256,1");
    }

    private static Machine withCacheHooks() {
        return Machine.builder()
                .ramBytes(6 * GIB)
                .chunkBytes(1 << 16)
                .commandLine("swiotlb=256,1")
                .backendOptions(BackendOptions.NONE.with("swiotlb.poolBase", POOL_BASE))
                .kernelConfig(new RecordingCache().kernel())
                .build();
    }

    private static Machine poolless() {
        return machine(6 * GIB, "direct", "swiotlb=noforce");
    }

    /** What the kernel complains of. */
    private static List<KernelLog.Entry> complaints(Machine machine) {
        return machine.log().entries().stream()
                .filter(entry -> entry.kind() != KernelLog.Kind.INFO)
                .toList();
    }

    private static void assertIdle(Machine machine) {
        List<String> wrong = new ArrayList<>();
        machine.checkStructure(wrong::add);
        machine.checkIdle(wrong::add);
        assertThat(wrong).isEmpty();
    }

    private static Device device(Machine machine, long mask) {
        return machine.addDevice(
                DeviceConfig.named("dev" + machine.devices().size()).withMask(mask));
    }

    private static long used(Machine machine) {
        return metrics(machine).getOrDefault(Metric.POOL_USED_SLOTS, 0L);
    }

    private static Map<Metric, Long> metrics(Machine machine) {
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        machine.report(metrics::put);
        return metrics;
    }

    @Test
    @DisplayName("DIR-10: what is in reach is mapped one to one")
    void reachableBufferKeepsItsAddress() {
        Machine machine = bouncing();
        Dma dma = device(machine, -1).dma();
        assertThat(dma.mapPage(HIGH, 0x1000, TO_DEVICE, 0)).isEqualTo(HIGH);
        dma.unmapPage(HIGH, 0x1000, TO_DEVICE, 0);
        assertThat(metrics(machine)).containsEntry(Metric.BYTES_BOUNCED, 0L);
        assertIdle(machine);
    }

    @Test
    @DisplayName("EX-34")
    void lastByteDecidesWhetherAMaskReaches() {
        Machine machine = machine(6 * GIB, "direct", "swiotlb=256,1");
        Dma dma = device(machine, MASK_32).dma();
        Machine noHole = Machine.builder()
                .ram(io.pagewalk.dma.memory.RamMap.of(io.pagewalk.dma.memory.PhysRange.ofSize(0, 6 * GIB)))
                .commandLine("swiotlb=256,1")
                .build();
        Dma across = device(noHole, MASK_32).dma();
        assertThat(across.mapPage(0xffff_f800L, 0x800, TO_DEVICE, 0)).isEqualTo(0xffff_f800L);
        assertThat(used(noHole)).isZero();
        assertThat(across.mapPage(0xffff_f800L, 0x801, TO_DEVICE, 0)).isNotEqualTo(0xffff_f800L);
        assertThat(used(noHole)).isEqualTo(2);
        assertThat(dma.mapPage(0xffff_f800L, 0x800, TO_DEVICE, 0))
                .as("RAM or not")
                .isEqualTo(0xffff_f800L);
    }

    @Test
    @DisplayName("EX-32")
    void addressWithoutARangeIsNeverReachable() {
        Machine machine = poolless();
        Device device =
                machine.addDevice(DeviceConfig.named("dev").withRanges(new DmaRange(0x8000_0000L, 0, 0x4000_0000L)));
        assertThat(device.dma().mapPage(0x8000_1000L, 0x1000, TO_DEVICE, 0)).isEqualTo(0x1000);
        assertThat(device.dma().mapPage(0xc000_0000L, 0x1000, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_RANGE);
        assertThat(device.dma().lastFailure().numbers()).containsExactly(0xc000_0000L, 0x1000L);
        assertThat(complaints(machine))
                .singleElement()
                .extracting(e -> e.text())
                .asString()
                .contains("0xffffffffffffffff+4096");
    }

    @Test
    @DisplayName("EX-33, DIR-3")
    void onlyTheFirstByteIsTranslated() {
        Machine machine = poolless();
        Device device =
                machine.addDevice(DeviceConfig.named("dev").withRanges(new DmaRange(0x8000_0000L, 0, 0x4000_0000L)));
        assertThat(device.dma().mapPage(0xbfff_f800L, 0x1000, TO_DEVICE, 0)).isEqualTo(0x3fff_f800L);
    }

    @Test
    @DisplayName("DIR-8: an end that wraps is small, and size 0 looks at the byte before")
    void reachIsAMatterOfTheWrappedEnd() {
        Machine machine = poolless();
        Dma dma = device(machine, MASK_32).dma();
        assertThat(dma.mapPage(0xffff_ffff_ffff_f000L, 0x2000, TO_DEVICE, 0)).isEqualTo(0xffff_ffff_ffff_f000L);
        assertThat(dma.mapPage(0x1000, 0, TO_DEVICE, 0)).isEqualTo(0x1000);
        assertThat(dma.mapPage(0, 0, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(device(machine, -1).dma().mapPage(0, 0, TO_DEVICE, 0)).isZero();
    }

    @Test
    @DisplayName("DIR-10, DIR-14: out of reach is bounced, and copied back once")
    void bufferAboveTheMaskIsBounced() {
        Machine machine = bouncing();
        Device device = device(machine, MASK_32);
        Dma dma = device.dma();
        machine.cpuMemory().fill(HIGH, 0x1000, (byte) 0x11);
        long dmaAddr = dma.mapPage(HIGH, 0x1000, BIDIRECTIONAL, 0);
        assertThat(dmaAddr).isEqualTo(POOL_BASE);
        byte[] seen = new byte[0x1000];
        assertThat(device.bus().read(dmaAddr, seen, 0, seen.length)).isEqualTo(seen.length);
        assertThat(seen).containsOnly(0x11);
        device.bus().write(dmaAddr, new byte[] {0x22, 0x33}, 0, 2);
        assertThat(machine.cpuMemory().getShort(HIGH)).isEqualTo((short) 0x1111);
        dma.syncSingleForCpu(dmaAddr, 1, BIDIRECTIONAL);
        assertThat(machine.cpuMemory().getShort(HIGH)).isEqualTo((short) 0x1122);
        dma.unmapPage(dmaAddr, 0x1000, BIDIRECTIONAL, 0);
        assertThat(machine.cpuMemory().getShort(HIGH)).isEqualTo((short) 0x3322);
        assertThat(metrics(machine))
                .containsEntry(Metric.BYTES_BOUNCED, 0x2001L)
                .containsEntry(Metric.POOL_SLOTS, 256L)
                .containsEntry(Metric.POOL_PEAK_SLOTS, 2L)
                .containsEntry(Metric.POOL_USED_SLOTS, 0L);
        assertIdle(machine);
    }

    @Test
    @DisplayName("DIR-14, ATTR-4: SKIP_CPU_SYNC leaves out the copy back")
    void unmapWithoutSyncCopiesNothing() {
        Machine machine = bouncing();
        Device device = device(machine, MASK_32);
        long dmaAddr = device.dma().mapPage(HIGH, 0x100, FROM_DEVICE, 0);
        device.bus().writeLong(dmaAddr, 42);
        device.dma().unmapPage(dmaAddr, 0x100, FROM_DEVICE, DmaAttrs.SKIP_CPU_SYNC);
        assertThat(machine.cpuMemory().getLong(HIGH)).isZero();
        assertIdle(machine);
    }

    @Test
    @DisplayName("DIR-21")
    void syncForDeviceReachesTheBounceBuffer() {
        Machine machine = bouncing();
        Device device = device(machine, MASK_32);
        long dmaAddr = device.dma().mapPage(HIGH, 0x100, TO_DEVICE, 0);
        machine.cpuMemory().putLong(HIGH + 8, 99);
        assertThat(device.bus().readLong(dmaAddr + 8)).isZero();
        device.dma().syncSingleForDevice(dmaAddr + 8, 8, TO_DEVICE);
        assertThat(device.bus().readLong(dmaAddr + 8)).isEqualTo(99);
        device.dma().unmapPage(dmaAddr, 0x100, TO_DEVICE, 0);
        assertIdle(machine);
    }

    @Test
    @DisplayName("DIR-10: the swiotlb variant bounces what is in reach too")
    void forcedMachineBouncesEverything() {
        for (Machine machine :
                List.of(machine(GIB, "swiotlb", "swiotlb=256,1"), machine(GIB, "direct", "swiotlb=256,1,force"))) {
            Dma dma = device(machine, -1).dma();
            assertThat(dma.mapPage(0x5000, 0x100, TO_DEVICE, 0)).isEqualTo(POOL_BASE);
            dma.unmapPage(POOL_BASE, 0x100, TO_DEVICE, 0);
            assertIdle(machine);
        }
    }

    @Test
    void swiotlbVariantHas64MiBUnlessTheCommandLineSaysOtherwise() {
        Machine machine = Machine.builder().ramBytes(GIB).backend("swiotlb").build();
        assertThat(metrics(machine)).containsEntry(Metric.POOL_SLOTS, 0x8000L);
    }

    @Test
    @DisplayName("B1, SWM-10: a pool beyond reach fails, and has moved on")
    void poolOutOfReachFailsAndMovesTheNextMapping() {
        Machine machine = machine(6 * GIB, "direct", "swiotlb=256,1");
        DmaRange offset = new DmaRange(0, 0x4_0000_0000L, 4 * GIB);
        DeviceConfig config = DeviceConfig.named("narrow").withRanges(offset).withBusLimit(0x4_ffff_ffffL);
        Device narrow = machine.addDevice(config.withMask(MASK_32));
        assertThat(narrow.dma().mapPage(0x50dc_4000, 0x4000, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(narrow.dma().lastFailure().reason()).isEqualTo(FailureReason.POOL_OUT_OF_REACH);
        assertThat(narrow.dma().lastFailure().numbers())
                .containsExactly(0x4_0000_0000L + POOL_BASE, 0x4000L, MASK_32, 0x4_ffff_ffffL);
        assertThat(machine.log().count("swiotlb_map: overflow")).isEqualTo(1);
        assertThat(complaints(machine))
                .singleElement()
                .extracting(e -> e.text())
                .asString()
                .contains("0x0000000410000000+16384", "mask 0xffffffff", "bus limit 0x4ffffffff");
        assertThat(used(machine)).isZero();
        assertThat(metrics(machine)).containsEntry(Metric.POOL_PEAK_SLOTS, 8L);
        Device plain = device(machine, MASK_32);
        assertThat(plain.dma().mapPage(HIGH, 1, TO_DEVICE, 0)).isEqualTo(POOL_BASE + 8 * 0x800);

        Device wide = machine.addDevice(DeviceConfig.named("wide")
                .withRanges(offset)
                .withBusLimit(0x4_ffff_ffffL)
                .withMask((1L << 35) - 1));
        assertThat(wide.dma().mapPage(0x50dc_4000, 0x4000, TO_DEVICE, 0)).isEqualTo(0x4_50dc_4000L);
    }

    @Test
    @DisplayName("B2, C2, DIR-31: a list fails whole, with the residue of the kernel")
    void listThatFailsReleasesWhatItHadAndLeavesItsTraces() {
        Machine machine = poolless();
        Dma dma = device(machine, MASK_32).dma();
        SgTable sg = new SgTable(2).add(0x5000, 0x200).add(HIGH, 0x1000);
        assertThat(dma.mapSg(sg, 2, TO_DEVICE, 0)).isZero();
        assertThat(sg.dmaAddr(0)).isEqualTo(0x5000);
        assertThat(sg.dmaLengthBytes(0)).isEqualTo(0x200);
        assertThat(sg.dmaAddr(1)).isEqualTo(DMA_MAPPING_ERROR);
        sg.mapped(7);
        assertThat(dma.mapSgTable(sg, TO_DEVICE, 0)).isEqualTo(-Errno.EIO);
        assertThat(sg.nents()).as("kept on error").isEqualTo(7);
        assertThat(dma.lastFailure().errno()).isEqualTo(Errno.EIO);
        assertThat(dma.lastFailure().reason()).isEqualTo(FailureReason.MASK_TOO_SMALL);
        assertIdle(machine);
    }

    @Test
    @DisplayName("DIR-31: bounced entries before the failing one are released without a copy back")
    void listThatFailsHalfWayReleasesItsBounceBuffers() {
        Machine machine = bouncing();
        Dma dma = device(machine, MASK_32).dma();
        SgTable sg = new SgTable(3).add(HIGH, 0x1000).add(HIGH + 0x1000, 0x1000).add(HIGH, 0x40001);
        machine.failures().failNth(Long.MAX_VALUE);
        assertThat(dma.mapSgTable(sg, BIDIRECTIONAL, 0)).isEqualTo(-Errno.EIO);
        assertThat(machine.failures().passed()).isEqualTo(3);
        assertThat(metrics(machine)).containsEntry(Metric.BYTES_BOUNCED, 0x2000L);
        assertThat(dma.lastFailure().reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
        assertIdle(machine);
    }

    @Test
    @DisplayName("DIR-30, DIR-32, DIR-22")
    void listIsMappedSyncedAndUnmappedEntryByEntry() {
        Machine machine = bouncing();
        Device device = device(machine, MASK_32);
        Dma dma = device.dma();
        SgTable sg = new SgTable(2).add(0x5000, 0x200).add(HIGH + 0x10, 0x30);
        assertThat(dma.mapSg(sg, 2, BIDIRECTIONAL, 0)).isEqualTo(2);
        assertThat(sg.dmaAddr(0)).isEqualTo(0x5000);
        assertThat(sg.dmaAddr(1)).isEqualTo(POOL_BASE);
        assertThat(sg.dmaLengthBytes(1)).isEqualTo(0x30);
        device.bus().writeLong(sg.dmaAddr(1), 5);
        dma.syncSgForCpu(sg, 2, BIDIRECTIONAL);
        assertThat(machine.cpuMemory().getLong(HIGH + 0x10)).isEqualTo(5);
        machine.cpuMemory().putLong(HIGH + 0x10, 6);
        dma.syncSgForDevice(sg, 2, BIDIRECTIONAL);
        assertThat(device.bus().readLong(sg.dmaAddr(1))).isEqualTo(6);
        dma.unmapSg(sg, 2, BIDIRECTIONAL, 0);
        assertIdle(machine);
    }

    @Test
    @DisplayName("B3, DIR-11: without a pool, once for pages and once for lists, whatever the device")
    void overflowWarnsOnceForEachCallSite() {
        Machine machine = poolless();
        Device device =
                machine.addDevice(DeviceConfig.named("dev").withMask(MASK_32).withBusLimit(MASK_32));
        assertThat(device.dma().mapPage(0x1_a729_6000L, 708608, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(complaints(machine))
                .singleElement()
                .extracting(e -> e.text())
                .asString()
                .contains("0x00000001a7296000+708608", "mask 0xffffffff", "bus limit 0xffffffff");
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.MASK_TOO_SMALL);
        assertThat(device.dma().lastFailure().numbers()).containsExactly(0x1_a729_6000L, 708608L, MASK_32, MASK_32);
        device(machine, MASK_32).dma().mapPage(HIGH, 1, TO_DEVICE, 0);
        assertThat(complaints(machine)).hasSize(1);
        device.dma().mapSg(new SgTable(1).add(HIGH, 1), 1, TO_DEVICE, 0);
        device.dma().mapSg(new SgTable(1).add(HIGH, 1), 1, TO_DEVICE, 0);
        assertThat(complaints(machine)).hasSize(2);
        assertThat(machine.log().count("dma_direct_map_page: overflow")).isEqualTo(2);
        assertThat(machine.log().count("dma_direct_map_sg: overflow")).isEqualTo(2);
    }

    @Test
    void scopedMapThrowsTheCause() {
        Machine machine = poolless();
        Dma dma = device(machine, MASK_32).dma();
        assertThatThrownBy(() -> dma.map(HIGH, 0x100, TO_DEVICE))
                .isInstanceOf(DmaException.class)
                .hasMessageContaining("MASK_TOO_SMALL");
    }

    @Test
    @DisplayName("B4, DIR-40: a resource is not translated and not bounced")
    void resourceKeepsItsPhysicalAddress() {
        Machine machine = machine(6 * GIB, "direct", "swiotlb=256,1,force");
        Device pi = machine.addDevice(
                DeviceConfig.named("pi").withMask(MASK_32).withRanges(new DmaRange(0, 0xc000_0000L, 0x3f00_0000L)));
        assertThat(pi.dma().mapResource(0x3f20_2040, 4, TO_DEVICE, 0)).isEqualTo(0x3f20_2040);
        pi.dma().unmapResource(0x3f20_2040, 4, TO_DEVICE, 0);
        assertThat(pi.dma().mapResource(0x1_0000_0000L, 4, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(pi.dma().mapResource(0x1_0000_0000L, 4, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(pi.dma().lastFailure().reason()).isEqualTo(FailureReason.MASK_TOO_SMALL);
        assertThat(complaints(machine)).as("a message and a WARN, once each").hasSize(2);
        assertThat(machine.log().warnCount()).isEqualTo(1);
        assertIdle(machine);
    }

    @Test
    @DisplayName("B7, FE-1")
    void deviceWithoutAMaskMapsNothing() {
        Machine machine = bouncing();
        Device child = machine.addDevice(DeviceConfig.named("child").withStreamingMask(null));
        assertThat(child.dma().mapPage(0x5000, 0x100, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(child.dma().mapSg(new SgTable(1).add(0x5000, 1), 1, TO_DEVICE, 0))
                .isZero();
        assertThat(child.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MASK);
    }

    @Test
    @DisplayName("DIR-14: a buffer inside the pool's memory is unmapped like a bounce buffer")
    void bufferInsideThePoolLooksBounced() {
        Machine machine = bouncing();
        Dma dma = device(machine, -1).dma();
        assertThat(dma.mapPage(POOL_BASE + 0x1000, 0x800, FROM_DEVICE, 0)).isEqualTo(POOL_BASE + 0x1000);
        dma.unmapPage(POOL_BASE + 0x1000, 0x800, FROM_DEVICE, 0);
        assertIdle(machine);
    }

    @Test
    @DisplayName("MSK-8: a coherent device needs no sync until it bounces")
    void syncIsSkippedForCoherentDevicesOnly() {
        Machine machine = withCacheHooks();
        Device coherent = device(machine, -1);
        assertThat(coherent.skipsSync()).isFalse();
        assertThat(coherent.setMask(MASK_32)).isZero();
        assertThat(coherent.skipsSync()).isTrue();
        coherent.dma().mapPage(HIGH, 1, TO_DEVICE, 0);
        assertThat(coherent.skipsSync()).isFalse();
        Device incoherent = machine.addDevice(DeviceConfig.named("incoherent").withCoherent(false));
        assertThat(incoherent.setMask(MASK_32)).isZero();
        assertThat(incoherent.skipsSync()).isFalse();
    }

    @Test
    void everyInjectedFailureLeavesNothingHeld() {
        Machine machine = bouncing();
        Device device = device(machine, MASK_32);
        SgTable sg =
                new SgTable(4).add(HIGH, 0x100).add(HIGH, 0x2000).add(HIGH, 1).add(HIGH, 0x800);
        machine.failures().failNth(Long.MAX_VALUE);
        program(device, sg);
        long points = machine.failures().passed();
        assertThat(points).isEqualTo(6);
        for (long n = 1; n <= points; n++) {
            machine.failures().failNth(n);
            program(device, sg);
            assertThat(machine.failures().failedAt()).isNotNull();
            assertIdle(machine);
        }
    }

    private static void program(Device device, SgTable sg) {
        Dma dma = device.dma();
        if (dma.mapSg(sg, 4, FROM_DEVICE, 0) != 0) {
            dma.unmapSg(sg, 4, FROM_DEVICE, 0);
        }
        long dmaAddr = dma.mapPage(HIGH, 0x300, TO_DEVICE, 0);
        if (dmaAddr != DMA_MAPPING_ERROR) {
            dma.unmapPage(dmaAddr, 0x300, TO_DEVICE, 0);
        }
        var buffer = dma.allocCoherent(0x1800, 0);
        if (buffer != null) {
            buffer.close();
        }
    }

    @Test
    void hotPathsAllocateNothing() throws ReflectiveOperationException {
        Machine machine = bouncing();
        Dma direct = device(machine, -1).dma();
        Dma bounced = device(machine, MASK_32).dma();
        SgTable sg = new SgTable(4).add(0x5000, 0x100).add(HIGH, 0x100);
        long bytes = new AllocatedBytes().during(10_000, () -> {
            direct.unmapPage(direct.mapPage(HIGH, 0x1000, TO_DEVICE, 0), 0x1000, TO_DEVICE, 0);
            long dmaAddr = bounced.mapPage(HIGH, 0x100, BIDIRECTIONAL, 0);
            bounced.syncSingleForCpu(dmaAddr, 0x10, BIDIRECTIONAL);
            bounced.syncSingleForDevice(dmaAddr, 0x10, BIDIRECTIONAL);
            bounced.unmapPage(dmaAddr, 0x100, BIDIRECTIONAL, 0);
            bounced.mapSg(sg, 2, TO_DEVICE, 0);
            bounced.unmapSg(sg, 2, TO_DEVICE, 0);
        });
        assertThat(bytes / 10_000.0).isLessThan(0.2);
    }

    @Test
    @DisplayName(
            "FE-43: a pool that holds the address, or a device that is not coherent, needs sync; before set_mask at least")
    void theAddressAloneDecidesWhetherSyncIsNeeded() {
        try (Machine machine = withCacheHooks()) {
            Dma coherent = machine.addDevice(DeviceConfig.named("coherent")).dma();
            Dma incoherent = machine.addDevice(DeviceConfig.named("incoherent").withCoherent(false))
                    .dma();
            assertThat(coherent.needSync(HIGH)).isFalse();
            assertThat(coherent.needSync(POOL_BASE)).isTrue();
            assertThat(coherent.needSync(POOL_BASE - 1)).isFalse();
            assertThat(incoherent.needSync(HIGH)).isTrue();
        }
    }
}
