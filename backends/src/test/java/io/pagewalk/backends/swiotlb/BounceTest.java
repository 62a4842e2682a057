package io.pagewalk.backends.swiotlb;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.NONE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.AllocatedBytes;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelWarnException;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is copied when, and where to (dma-core:SWB-1 to SWB-12). */
class BounceTest {
    private static final long ORIG = 0x10_0000;
    private static final int CPU_BYTE = 0x11;
    private static final int DEVICE_BYTE = 0xee;

    private final PoolWorld world = new PoolWorld(256, 1);

    private long map(Device device, long size, DmaDirection direction, int attrs) {
        return world.pool.map(device, 0, ORIG, size, 0, direction, attrs);
    }

    @ParameterizedTest
    @DisplayName("SWB-6: a bounce buffer starts as a copy, whatever direction and attributes")
    @EnumSource(names = {"TO_DEVICE", "FROM_DEVICE", "BIDIRECTIONAL"})
    void freshBounceBufferIsACopyOfTheBuffer(DmaDirection direction) {
        world.fill(ORIG, 0x200, CPU_BYTE);
        long tlbAddr = map(world.device(0), 0x200, direction, DmaAttrs.SKIP_CPU_SYNC);
        assertThat(world.bytes(tlbAddr, 0x200)).containsOnly(CPU_BYTE);
        assertThat(world.bytes(tlbAddr + 0x200, 0x600)).containsOnly(0);
    }

    @Test
    @DisplayName("SWB-6: padding keeps what was there")
    void bytesBesideTheMappingKeepTheirOldContents() {
        Device device = world.device(0xfff);
        world.fill(0x200_0000, 0x2000, 0x77);
        long tlbAddr = world.pool.map(device, 0, ORIG + 0x123, 0x100, 0, TO_DEVICE, 0);
        assertThat(world.bytes(tlbAddr - 0x123, 0x123)).containsOnly(0x77);
        assertThat(world.bytes(tlbAddr, 0x100)).containsOnly(0);
        assertThat(world.bytes(tlbAddr + 0x100, 0x100)).containsOnly(0x77);
    }

    @Test
    @DisplayName("SWB-12")
    void eachCallCopiesWhatItsDirectionSays() {
        Map<DmaDirection, String> table = new EnumMap<>(DmaDirection.class);
        for (DmaDirection direction : new DmaDirection[] {TO_DEVICE, FROM_DEVICE, BIDIRECTIONAL}) {
            table.put(direction, copies(direction));
        }
        assertThat(table)
                .containsEntry(TO_DEVICE, "out,-,-,-")
                .containsEntry(FROM_DEVICE, "-,back,back,-")
                .containsEntry(BIDIRECTIONAL, "out,back,back,-");
    }

    /** What sync for device, sync for CPU, unmap, and unmap with SKIP_CPU_SYNC do. */
    private String copies(DmaDirection direction) {
        Device device = world.device(0);
        long tlbAddr = map(device, 0x100, direction, 0);
        StringBuilder done = new StringBuilder();
        scribble(tlbAddr);
        world.pool.syncForDevice(device, 0, tlbAddr, 0x100, direction);
        done.append(outcome(tlbAddr)).append(',');
        scribble(tlbAddr);
        world.pool.syncForCpu(device, 0, tlbAddr, 0x100, direction);
        done.append(outcome(tlbAddr)).append(',');
        scribble(tlbAddr);
        world.pool.unmap(device, 0, tlbAddr, 0x100, direction, 0);
        done.append(outcome(tlbAddr)).append(',');
        long again = map(device, 0x100, direction, 0);
        scribble(again);
        world.pool.unmap(device, 0, again, 0x100, direction, DmaAttrs.SKIP_CPU_SYNC);
        world.assertIdle();
        return done.append(outcome(again)).toString();
    }

    private void scribble(long tlbAddr) {
        world.fill(ORIG, 0x100, CPU_BYTE);
        world.fill(tlbAddr, 0x100, DEVICE_BYTE);
    }

    private String outcome(long tlbAddr) {
        byte orig = world.bytes(ORIG, 1)[0];
        byte bounce = world.bytes(tlbAddr, 1)[0];
        if (orig == bounce) {
            return orig == (byte) CPU_BYTE ? "out" : "back";
        }
        return "-";
    }

    @Test
    @DisplayName("SWB-10: the direction of the sync counts, not that of the map")
    void syncFollowsItsOwnDirection() {
        Device device = world.device(0);
        long tlbAddr = map(device, 0x100, TO_DEVICE, 0);
        world.fill(tlbAddr, 0x100, DEVICE_BYTE);
        world.pool.syncForCpu(device, 0, tlbAddr, 0x100, FROM_DEVICE);
        assertThat(world.bytes(ORIG, 0x100)).containsOnly(DEVICE_BYTE);
        assertThatThrownBy(() -> world.pool.syncForCpu(device, 0, tlbAddr, 1, NONE))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("SWB-8");
        assertThatThrownBy(() -> world.pool.syncForDevice(device, 0, tlbAddr, 1, NONE))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("SWB-9");
    }

    @Test
    @DisplayName("EX-31")
    void partialSyncMovesExactlyItsBytes() {
        Device device = world.device(0xfff);
        long orig = 0x10_0e78;
        assertThat(world.pool.map(device, 0, orig, 0x1000, 0, FROM_DEVICE, 0)).isEqualTo(0x200_0e78);
        world.fill(0x200_0e78, 0x1000, DEVICE_BYTE);
        world.pool.syncForCpu(device, 0, 0x200_0e78 + 0x200, 0x10, FROM_DEVICE);
        assertThat(world.bytes(0x10_1078, 0x10)).containsOnly(DEVICE_BYTE);
        assertThat(world.bytes(orig, 0x200)).containsOnly(0);
        assertThat(world.bytes(0x10_1088, 0xdf0)).containsOnly(0);
        world.pool.syncForCpu(device, 0, 0x200_0e78 + 0xff0, 0x40, FROM_DEVICE);
        assertThat(world.lastLogged()).contains("allocation size 16, mapping size 64");
        assertThat(world.bytes(orig + 0xff0, 0x10)).containsOnly(DEVICE_BYTE);
        assertThat(world.bytes(orig + 0x1000, 0x40)).containsOnly(0);
        world.pool.syncForCpu(device, 0, 0x200_0e78 + 0x200, 0x1000, FROM_DEVICE);
        assertThat(world.machine.log().count("swiotlb_bounce: overflow")).isEqualTo(2);
        assertThat(world.machine.log().warnCount()).as("WARN-once").isEqualTo(1);
        assertThat(world.bytes(orig + 0x1000, 0x40)).containsOnly(0);
    }

    @Test
    @DisplayName("EX-31: the clip's numbers at +0x200")
    void syncPastTheMappingIsClippedAtItsEnd() {
        Device device = world.device(0xfff);
        world.pool.map(device, 0, 0x10_0e78, 0x1000, 0, FROM_DEVICE, 0);
        world.pool.syncForCpu(device, 0, 0x200_0e78 + 0x200, 0x1000, FROM_DEVICE);
        assertThat(world.lastLogged()).contains("allocation size 3584, mapping size 4096");
    }

    @Test
    @DisplayName("SWB-3")
    void warningCanBeMadeFatal() {
        Device device = world.device(0);
        long tlbAddr = map(device, 0x100, FROM_DEVICE, 0);
        world.machine.log().warnsAreFatal(true);
        assertThatThrownBy(() -> world.pool.syncForCpu(device, 0, tlbAddr, 0x101, FROM_DEVICE))
                .isInstanceOf(KernelWarnException.class)
                .hasMessageContaining("allocation size 256, mapping size 257");
    }

    @Test
    @DisplayName(
            "SWB-7: before the mapping in its first slot lie bytes before the buffer; a padding slot copies nothing")
    void syncBeforeTheMappingIsNotDetected() {
        Device device = world.device(0xfff);
        long tlbAddr = world.pool.map(device, 0, ORIG + 0x900, 0x100, 0xfff, FROM_DEVICE, 0);
        assertThat(tlbAddr).isEqualTo(0x200_0900);
        world.fill(0x200_0000, 0x1000, DEVICE_BYTE);
        world.pool.syncForCpu(device, 0, 0x200_0800, 0x10, FROM_DEVICE);
        assertThat(world.bytes(ORIG + 0x800, 0x10)).containsOnly(DEVICE_BYTE);
        world.pool.syncForCpu(device, 0, 0x200_0000, 0x10, FROM_DEVICE);
        assertThat(world.bytes(ORIG, 0x10)).containsOnly(0);
    }

    @Test
    @DisplayName("A7, A8")
    void nvmeOffsetSurvivesAndAPartialSyncHitsItsBytes() {
        Device nvme = world.device(0xfff);
        long orig = 0x34_5a00;
        long tlbAddr = world.pool.map(nvme, 0, orig, 0x1800, 0, BIDIRECTIONAL, 0);
        assertThat(tlbAddr & 0xfff).isEqualTo(0xa00);
        assertThat(world.slots.slotOf(tlbAddr) & 1).isEqualTo(1);
        assertThat(world.pool.usedSlots()).isEqualTo(4);
        world.fill(tlbAddr, 0x1800, 0x55);
        world.pool.syncForCpu(nvme, 0, tlbAddr + 0x680, 0x80, BIDIRECTIONAL);
        assertThat(world.bytes(orig, 0x680)).containsOnly(0);
        assertThat(world.bytes(orig + 0x680, 0x80)).containsOnly(0x55);
        assertThat(world.bytes(orig + 0x700, 0x1100)).containsOnly(0);
        world.pool.unmap(nvme, 0, tlbAddr, 0x1800, BIDIRECTIONAL, 0);
        world.assertIdle();
    }

    @Test
    @DisplayName("A9")
    void shortDeviceWriteNeitherLeaksNorLosesBytes() {
        Device device = world.device(0);
        world.fill(0x200_0000, 0x800, 0x99);
        world.fill(ORIG, 1024, 0xaa);
        long tlbAddr = map(device, 1024, FROM_DEVICE, 0);
        world.fill(tlbAddr, 100, 0x55);
        world.pool.syncForCpu(device, 0, tlbAddr, 1024, FROM_DEVICE);
        world.pool.syncForDevice(device, 0, tlbAddr, 1024, FROM_DEVICE);
        world.fill(tlbAddr + 100, 20, 0x55);
        world.pool.unmap(device, 0, tlbAddr, 1024, FROM_DEVICE, 0);
        assertThat(world.bytes(ORIG, 120)).containsOnly(0x55);
        assertThat(world.bytes(ORIG + 120, 904)).containsOnly(0xaa);
    }

    @Test
    @DisplayName("DIR-15: unmap copies as many bytes as it is told and frees all slots")
    void unmapWithAnotherSizeFreesEverything() {
        Device device = world.device(0);
        long tlbAddr = map(device, 0x1000, FROM_DEVICE, 0);
        world.fill(tlbAddr, 0x1000, DEVICE_BYTE);
        world.pool.unmap(device, 0, tlbAddr, 0x10, FROM_DEVICE, 0);
        assertThat(world.bytes(ORIG, 0x10)).containsOnly(DEVICE_BYTE);
        assertThat(world.bytes(ORIG + 0x10, 0xff0)).containsOnly(0);
        world.assertIdle();
    }

    @Test
    void bounceOfWhatIsNotRamIsABugThatHoldsNothing() {
        Device device = world.device(0);
        assertThatThrownBy(() -> world.pool.map(device, 0, 0xf000_0000L, 0x100, 0, TO_DEVICE, 0))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("0xf0000000+0x100");
        world.assertIdle();
    }

    @Test
    @DisplayName("SWM-7")
    void bounceEndsTheSkippingOfSyncs() {
        Device device = world.device(0);
        device.setMask(-1);
        assertThat(device.skipsSync()).isTrue();
        map(device, 1, TO_DEVICE, 0);
        assertThat(device.skipsSync()).isFalse();
    }

    @Test
    @DisplayName("SWM-1")
    void mappingWithoutAPoolFails() {
        SwiotlbPool none = new SwiotlbPool(world.machine, null, true);
        Device device = world.device(0);
        assertThat(none.map(device, 1, ORIG, 0x100, 0, TO_DEVICE, 0)).isEqualTo(-1L);
        assertThat(device.dma(1).lastFailure().reason()).isEqualTo(FailureReason.NO_POOL);
        assertThat(device.dma(1).lastFailure().numbers()).containsExactly(ORIG, 0x100L);
        assertThat(world.machine.log().count("swiotlb_tbl_map_single: no pool")).isEqualTo(1);
        assertThat(none.isActive()).isFalse();
        assertThat(none.contains(device, 0)).isFalse();
        assertThat(none.start()).isEqualTo(-1L);
        assertThat(none.usedSlots() + none.usedHiwater() + none.slots() + none.areas())
                .isZero();
        none.checkStructure(v -> assertThat(v).isNull());
        none.checkIdle(v -> assertThat(v).isNull());
    }

    @Test
    void everyCopiedByteIsCounted() {
        Device device = world.device(0);
        long tlbAddr = map(device, 0x300, BIDIRECTIONAL, 0);
        world.pool.syncForDevice(device, 0, tlbAddr, 0x20, BIDIRECTIONAL);
        world.pool.unmap(device, 0, tlbAddr, 0x300, BIDIRECTIONAL, 0);
        assertThat(world.pool.bytesBounced()).isEqualTo(0x620);
    }

    @Test
    void hotPathsAllocateNothing() throws ReflectiveOperationException {
        Device device = world.device(0xfff);
        long bytes = new AllocatedBytes().during(20_000, () -> {
            long tlbAddr = world.pool.map(device, 0, 0x10_0e78, 0x200, 0, BIDIRECTIONAL, 0);
            world.pool.syncForCpu(device, 0, tlbAddr + 0x10, 0x20, BIDIRECTIONAL);
            world.pool.syncForDevice(device, 0, tlbAddr + 0x10, 0x20, BIDIRECTIONAL);
            world.pool.unmap(device, 0, tlbAddr, 0x200, BIDIRECTIONAL, 0);
        });
        assertThat(bytes / 20_000.0).isLessThan(0.2);
    }

    @Test
    void repeatedFailureAllocatesNothing() throws ReflectiveOperationException {
        Device device = world.device(0);
        while (map(device, 0x40000, TO_DEVICE, 0) != -1L) {
            assertThat(world.pool.usedSlots()).isPositive();
        }
        long bytes = new AllocatedBytes().during(2_000, () -> map(device, 0x100, TO_DEVICE, 0));
        assertThat(bytes / 2_000.0).isLessThan(1);
        assertThat(world.machine.log().entries()).hasSize(10);
        assertThat(world.machine.log().count("swiotlb_tbl_map_single: full")).isEqualTo(4_001);
    }

    @Test
    @DisplayName("SWM-6: NO_WARN keeps quiet, the cause is noted all the same")
    void noWarnKeepsQuiet() {
        Device device = world.device(0);
        assertThat(map(device, 0x40001, TO_DEVICE, DmaAttrs.NO_WARN)).isEqualTo(-1L);
        assertThat(world.machine.log().entries()).isEmpty();
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
    }

    @Test
    void injectedFailureHoldsNothingAndHitsOnlyOnce() {
        Device device = world.device(0);
        world.machine.failures().failNth("swiotlb.slots", 2);
        assertThat(map(device, 0x100, TO_DEVICE, 0)).isEqualTo(0x200_0000);
        assertThat(map(device, 0x100, TO_DEVICE, 0)).isEqualTo(-1L);
        assertThat(world.pool.usedSlots()).isEqualTo(1);
        assertThat(map(device, 0x100, TO_DEVICE, 0)).isEqualTo(0x200_0800);
        world.assertSound();
    }
}
