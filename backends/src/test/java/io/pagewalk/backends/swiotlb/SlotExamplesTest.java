package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelBugException;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** The worked examples of where slots lie (dma-core:EX-10 to EX-30). */
class SlotExamplesTest {
    private static final long FULL = SwiotlbLayout.INVALID_PHYS_ADDR;

    @Test
    @DisplayName("EX-10")
    void searchGoesOnWhereItEndedAndPagesAreAligned() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0);
        SlotTable table = world.slots.table();
        assertThat(world.map(device, 0x10000, 0x200)).isEqualTo(0x200_0000);
        assertThat(world.slots.area(0).index()).isEqualTo(1);
        assertThat(world.map(device, 0x10200, 0x900)).isEqualTo(0x200_0800);
        assertThat(table.origAddr(1)).isEqualTo(0x10200);
        assertThat(table.origAddr(2)).isEqualTo(0x10a00);
        assertThat(table.allocSize(1)).isEqualTo(0x900);
        assertThat(table.allocSize(2)).isEqualTo(0x100);
        assertThat(world.slots.area(0).index()).isEqualTo(3);
        assertThat(world.map(device, 0x20234, 0x1800)).isEqualTo(0x200_2000);
        assertThat(table.freeRun(3)).isEqualTo(1);
        assertThat(new long[] {table.allocSize(4), table.allocSize(5), table.allocSize(6)})
                .containsExactly(0x1800, 0x1000, 0x800);
        assertThat(world.slots.area(0).index()).isEqualTo(7);
        assertThat(world.pool.usedSlots()).isEqualTo(6);
        world.unmap(device, 0x200_0000, 0x200);
        assertThat(table.freeRun(0)).isEqualTo(1);
        world.unmap(device, 0x200_0800, 0x900);
        assertThat(new int[] {table.freeRun(0), table.freeRun(1), table.freeRun(2), table.freeRun(3)})
                .containsExactly(4, 3, 2, 1);
        assertThat(world.map(device, 0x30000, 0x800)).isEqualTo(0x200_3800);
        world.assertSound();
    }

    @Test
    @DisplayName("EX-11, EX-12")
    void minAlignMaskKeepsTheOffsetInAPage() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0xfff);
        SlotTable table = world.slots.table();
        assertThat(world.map(device, 0x345678, 0x1000)).isEqualTo(0x200_0678);
        assertThat(new long[] {table.allocSize(0), table.allocSize(1), table.allocSize(2)})
                .containsExactly(0x1000, 0x800, 0);
        assertThat(world.map(device, 0x345e78, 0x1000)).isEqualTo(0x200_1e78);
        assertThat(world.pool.usedSlots()).isEqualTo(6);
        assertThat(table.origAddr(4)).isEqualTo(0x346678);
        world.fill(0x345e78, 0x1000, 0x11);
        world.fill(0x200_2010, 0x10, 0xee);
        world.pool.syncForCpu(device, 0, 0x200_2010, 0x10, DmaDirection.FROM_DEVICE);
        assertThat(world.bytes(0x346010, 0x10)).containsOnly(0xee);
        assertThat(world.bytes(0x34600f, 1)).containsOnly(0x11);
        assertThat(world.bytes(0x346020, 1)).containsOnly(0x11);
        world.pool.syncForCpu(device, 0, 0x200_2010, 0xe69, DmaDirection.FROM_DEVICE);
        assertThat(world.lastLogged()).contains("allocation size 3688", "mapping size 3689");
        world.assertSound();
    }

    @Test
    @DisplayName("EX-13")
    void paddingBelongsToTheAllocationAndNotToTheMapping() {
        PoolWorld world = new PoolWorld(256, 1);
        Device plain = world.device(0);
        assertThat(world.map(plain, 0, 0x345e78, 0x200, 0xfff)).isEqualTo(0x200_0000);
        assertThat(world.pool.usedSlots()).isEqualTo(2);
        assertThat(world.slots.table().allocSize(0)).isEqualTo(0x1000);
        world.pool.syncForCpu(plain, 0, 0x200_0000, 0x1000, DmaDirection.FROM_DEVICE);
        assertThat(world.machine.log().warnCount()).isZero();
        world.pool.syncForCpu(plain, 0, 0x200_0000, 0x1001, DmaDirection.FROM_DEVICE);
        assertThat(world.lastLogged()).contains("allocation size 4096", "mapping size 4097");
        world.unmap(plain, 0x200_0000, 0x200);

        Device aligned = world.device(0xfff);
        long tlbAddr = world.map(aligned, 0, 0x345e78, 0x200, 0xfff);
        assertThat(tlbAddr & 0xfff).isEqualTo(0xe78);
        int first = world.slots.slotOf(tlbAddr) - 1;
        assertThat(world.slots.table().origAddr(first)).isEqualTo(FULL);
        assertThat(world.slots.table().padSlots(first + 1)).isEqualTo(1);
        assertThat(world.slots.table().allocSize(first + 1)).isEqualTo(0x1188);
        assertThat(world.pool.usedSlots()).isEqualTo(4);
        world.assertSound();
        world.unmap(aligned, tlbAddr, 0x200);
        world.assertIdle();
    }

    @Test
    @DisplayName("EX-14, SWM-2")
    void alignmentAboveAPageWarnsAndWorks() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0xffff);
        assertThat(world.map(device, 0, 0x34de78, 0x3000, 0xffff)).isEqualTo(0x200_de78);
        assertThat(world.machine.log().count("swiotlb_tbl_map_single: alignment"))
                .isEqualTo(1);
        assertThat(world.slots.table().allocSize(27)).isEqualTo(0x12188);
        assertThat(world.slots.table().padSlots(27)).isEqualTo(27);
        assertThat(world.pool.usedSlots()).isEqualTo(64);
        world.unmap(device, 0x200_de78, 0x3000);
        world.assertIdle();
    }

    @Test
    @DisplayName("EX-15")
    void sizeOfATailSlotMayWrapAndStillLimitsTheCopy() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0x7ff);
        assertThat(world.map(device, 0x107f0, 0x20)).isEqualTo(0x200_07f0);
        assertThat(world.slots.table().allocSize(0)).isEqualTo(0x20);
        assertThat(world.slots.table().allocSize(1)).isEqualTo(0xffff_ffff_ffff_f820L);
        world.pool.syncForCpu(device, 0, 0x200_0803, 0xd, DmaDirection.FROM_DEVICE);
        assertThat(world.machine.log().warnCount()).isZero();
        world.pool.syncForCpu(device, 0, 0x200_0803, 0xe, DmaDirection.FROM_DEVICE);
        assertThat(world.lastLogged()).contains("allocation size 13", "mapping size 14");
        world.assertSound();
    }

    @Test
    @DisplayName("EX-16")
    void mappingStaysInsideASegmentBoundary() {
        PoolWorld world = new PoolWorld(0x200_1800L, 256, 1);
        assertThat(world.map(world.device(0, 0xffff), 0x10000, 0xe800)).isEqualTo(0x201_0000);
        assertThat(world.pool.usedSlots()).isEqualTo(29);
    }

    @Test
    @DisplayName("EX-17")
    void eachBoundaryHoldsOneMappingThatFillsMoreThanHalfOfIt() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0, 0x3fff);
        assertThat(world.map(device, 0x10000, 0x2800)).isEqualTo(0x200_0000);
        assertThat(world.map(device, 0x10000, 0x2800)).isEqualTo(0x200_4000);
        assertThat(world.map(device, 0x10000, 0x2800)).isEqualTo(0x200_8000);
    }

    @Test
    @DisplayName("EX-18, SWM-6")
    void fullPoolSaysItsNumbers() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        assertThat(world.map(device, 0x10000, 0x40000)).isEqualTo(0x200_0000);
        assertThat(world.slots.area(0).index()).isZero();
        assertThat(world.map(device, 0x10000, 1)).isEqualTo(FULL);
        assertThat(world.lastLogged()).contains("(sz: 1 bytes), total 128 (slots), used 128 (slots)");
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.POOL_FULL);
        assertThat(world.why(device).numbers()).containsExactly(1L, 0L, 0L, 128L);
    }

    @Test
    @DisplayName("EX-19")
    void largeMinAlignMaskStridesThroughThePool() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0xffff);
        assertThat(world.map(device, 0x35678, 0x1000)).isEqualTo(0x200_5678);
        assertThat(world.map(device, 0x35678, 0x1000)).isEqualTo(0x201_5678);
        assertThat(world.map(device, 0x35678, 0x1000)).isEqualTo(0x202_5678);
    }

    @Test
    @DisplayName("EX-20, SWS-6, QRK-35")
    void freeSlotIsMissedWhenTheBudgetEndsAfterAWrap() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0xffff);
        for (int slot : new int[] {10, 42, 74, 106}) {
            assertThat(world.map(device, 0x5000, 0x800)).isEqualTo(PoolWorld.START + slot * 0x800L);
        }
        assertThat(world.slots.area(0).index()).isEqualTo(107);
        world.unmap(device, world.slots.addressOf(10), 0x800);
        world.slots.area(0).startNextSearchAt(11);
        assertThat(world.map(device, 0x5000, 0x800)).isEqualTo(FULL);
        assertThat(world.lastLogged()).contains("used 3 (slots)");
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.POOL_FRAGMENTED);
        assertThat(world.slots.area(0).index())
                .as("a failed search moves nothing (SWS-13)")
                .isEqualTo(11);
        world.slots.area(0).startNextSearchAt(10);
        assertThat(world.map(device, 0x5000, 0x800)).isEqualTo(world.slots.addressOf(10));
    }

    @Test
    @DisplayName("EX-21, SWS-20")
    void cpuSearchesItsOwnAreaFirstAndThenTheOthersInARing() {
        PoolWorld world = new PoolWorld(512, 4);
        Device device = world.device(0);
        assertThat(world.map(device, 2, 0x10000, 1, 0)).isEqualTo(0x208_0000);
        assertThat(world.map(device, 6, 0x10000, 1, 0)).isEqualTo(0x208_0800);
        assertThat(world.map(device, 3, 0x10000, 0x40000, 0)).isEqualTo(0x20c_0000);
        assertThat(world.map(device, 3, 0x10000, 0x40000, 0)).isEqualTo(0x200_0000);
        assertThat(world.map(device, 3, 0x10000, 0x40000, 0)).isEqualTo(0x204_0000);
        assertThat(world.map(device, 3, 0x10000, 0x40000, 0)).isEqualTo(FULL);
        assertThat(world.lastLogged()).contains("total 512 (slots), used 386 (slots)");
        assertThat(device.dma(3).lastFailure().reason()).isEqualTo(FailureReason.POOL_FULL);
        assertThat(device.dma(3).lastFailure().numbers()).containsExactly(128L, 126L, 126L, 512L);
    }

    @Test
    @DisplayName("EX-22")
    void mappingAboveTheMaximumFitsOnlyWithALuckyOffset() {
        PoolWorld world = new PoolWorld(128, 1);
        Device page = world.device(0xfff);
        assertThat(world.map(page, 0x1abc, 0x3f544)).isEqualTo(0x200_0abc);
        assertThat(world.pool.usedSlots()).isEqualTo(127);
        world.unmap(page, 0x200_0abc, 0x3f544);
        assertThat(world.map(page, 0x1abc, 0x3fd44)).isEqualTo(FULL);
        assertThat(world.why(page).reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
        assertThat(world.why(page).numbers()).containsExactly(0x3fd44L, 0x3f000L);
        world.assertIdle();
        Device slot = world.device(0x7ff);
        assertThat(world.map(slot, 0x1abc, 0x3fd45)).isEqualTo(FULL);
        world.slots.area(0).startNextSearchAt(0);
        assertThat(world.map(slot, 0x1abc, 0x3fd44)).isEqualTo(0x200_02bc);
    }

    @Test
    @DisplayName("EX-23, SWS-7")
    void bufferAtPhysicalZeroIsNotAligned() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0xffff);
        world.slots.area(0).startNextSearchAt(1);
        assertThat(world.map(device, 0, 0x800)).isEqualTo(0x200_0800);
        assertThat(world.map(device, 0x10000, 0x800)).isEqualTo(0x201_0000);
    }

    @Test
    @DisplayName("EX-24, SWM-13, SWS-8")
    void alignmentIsThatOfDmaAddresses() {
        PoolWorld world = new PoolWorld(256, 1);
        Device shifted = world.device(DeviceConfig.named("shifted")
                .withMinAlignMask(0xfff)
                .withRanges(new DmaRange(0, -0x100_0800L, 0x400_0000L)));
        assertThat(world.map(shifted, 0x10a00, 0x100)).isEqualTo(0x200_0200);
        Device askew = world.device(
                DeviceConfig.named("askew").withMinAlignMask(0xfff).withRanges(new DmaRange(0, 0x400, 0x400_0000L)));
        assertThat(world.map(askew, 0x10a00, 0x100)).isEqualTo(FULL);
        assertThat(world.why(askew).reason()).isEqualTo(FailureReason.POOL_FRAGMENTED);
    }

    @Test
    @DisplayName("EX-25, SWS-5")
    void shortRunAtTheEndIsStriddenOver() {
        PoolWorld world = new PoolWorld(128, 1);
        world.slots.area(0).startNextSearchAt(126);
        assertThat(world.map(world.device(0), 0x10000, 0x2000)).isEqualTo(0x200_0000);
    }

    @Test
    @DisplayName("EX-26, SWR-5")
    void hiwaterStaysAndTheSearchGoesOn() {
        PoolWorld world = new PoolWorld(128, 1);
        Device slots = world.device(0x7ff);
        long three = world.map(slots, 0x10000, 0x1800);
        world.unmap(slots, three, 0x1800);
        assertThat(world.map(slots, 0x10000, 1)).isEqualTo(0x200_1800);
        assertThat(world.pool.usedSlots()).isEqualTo(1);
        assertThat(world.pool.usedHiwater()).isEqualTo(3);
    }

    @Test
    @DisplayName("EX-27, SWR-7")
    void poolOfNoWholeSetsEndsShort() {
        PoolWorld world = new PoolWorld(200, 1);
        SlotTable table = world.slots.table();
        assertThat(new int[] {table.freeRun(0), table.freeRun(127), table.freeRun(128), table.freeRun(199)})
                .containsExactly(128, 1, 72, 1);
        Device device = world.device(0);
        world.slots.area(0).startNextSearchAt(198);
        long last = world.map(device, 0x10000, 0xfff);
        assertThat(last).isEqualTo(world.slots.addressOf(198));
        world.unmap(device, last, 0xfff);
        world.assertIdle();
    }

    @Test
    @DisplayName("EX-28")
    void boundaryOfASlotHoldsASlot() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0, 0x7ff);
        assertThat(world.map(device, 0x10000, 0x800)).isEqualTo(0x200_0000);
        assertThat(world.map(device, 0x10000, 0x801)).isEqualTo(FULL);
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
        assertThat(world.why(device).numbers()).containsExactly(0x801L, 0x800L);
    }

    @Test
    @DisplayName("EX-29, SWS-2")
    void pageRuleLooksAtAddressesAndNotAtSlotNumbers() {
        PoolWorld world = new PoolWorld(0x200_0800L, 128, 1);
        assertThat(world.map(world.device(0), 0x10000, 0x1000)).isEqualTo(0x200_1000);
        PoolWorld shorter = new PoolWorld(0x200_0800L, 128, 1);
        assertThat(shorter.map(shorter.device(0), 0x10000, 0xfff)).isEqualTo(0x200_0800);
    }

    @Test
    @DisplayName("EX-30, A6")
    void allocationWithoutOriginalIsAlignedToItsOrder() {
        PoolWorld world = new PoolWorld(256, 1);
        world.slots.area(0).startNextSearchAt(1);
        assertThat(world.slots.allocate(0, 0, 0x3000, 0x3fff, 0, PoolWorld.START, -1))
                .isEqualTo(8);
        assertThat(world.pool.usedSlots()).isEqualTo(6);
        assertThat(world.slots.table().origAddr(8)).isEqualTo(FULL);
        IoTlbPool restricted = new IoTlbPool(0x97ff_0000L, 7168, 1);
        restricted.area(0).startNextSearchAt(1645);
        int first = restricted.allocate(0, 0, 0x2000, 0x1fff, 0, 0x97ff_0000L, -1);
        int second = restricted.allocate(0, 0, 0x2000, 0x1fff, 0, 0x97ff_0000L, -1);
        int third = restricted.allocate(0, 0, 0x2000, 0x1fff, 0, 0x97ff_0000L, -1);
        assertThat(new int[] {first, second, third}).containsExactly(1648, 1652, 1656);
    }

    @Test
    @DisplayName("SWM-12")
    void mappingOfNothingIsABugUnlessAnOffsetNeedsASlot() {
        PoolWorld world = new PoolWorld(128, 1);
        Device plain = world.device(0);
        assertThatThrownBy(() -> world.map(plain, 0x10000, 0))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("SWM-12");
        assertThat(world.map(world.device(0xfff), 0x10234, 0)).isEqualTo(0x200_0234);
        assertThat(world.pool.usedSlots()).isEqualTo(1);
    }

    @Test
    @DisplayName("SWM-11")
    void moreThanASetIsFullWhateverThePool() {
        PoolWorld world = new PoolWorld(4096, 1);
        Device device = world.device(0);
        assertThat(world.map(device, 0x10000, 0x40001)).isEqualTo(FULL);
        assertThat(world.lastLogged()).contains("(sz: 262145 bytes), total 4096 (slots), used 0 (slots)");
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
        assertThat(world.why(device).numbers()).containsExactly(0x40001L, 0x40000L);
        assertThat(world.map(device, 0x10000, 1L << 43)).isEqualTo(FULL);
        assertThat(world.map(device, 0x10000, 0x40000)).isEqualTo(0x200_0000);
    }

    @Test
    @DisplayName("SWM-15")
    void maximumMappingLeavesRoomForTheOffset() {
        PoolWorld world = new PoolWorld(128, 1);
        assertThat(world.pool.maxMappingBytes(world.device(0))).isEqualTo(0x40000);
        assertThat(world.pool.maxMappingBytes(world.device(0x1ff))).isEqualTo(0x3f800);
        assertThat(world.pool.maxMappingBytes(world.device(0x7ff))).isEqualTo(0x3f800);
        assertThat(world.pool.maxMappingBytes(world.device(0xfff))).isEqualTo(0x3f000);
        assertThat(world.pool.maxMappingBytes(world.device(0xffff))).isEqualTo(0x30000);
    }

    @Test
    @DisplayName("SWR-6, DIR-14")
    void secondReleaseIsSeenOnlyWithAnOffset() {
        PoolWorld world = new PoolWorld(128, 1);
        Device plain = world.device(0);
        long tlbAddr = world.map(plain, 0x10000, 0x900);
        world.unmap(plain, tlbAddr, 0x900);
        world.unmap(plain, tlbAddr, 0x900);
        world.assertIdle();
        Device offset = world.device(0x7ff);
        long low = world.map(offset, 0x10010, 0x100);
        world.unmap(offset, low, 0x100);
        world.unmap(offset, low, 0x100);
        assertThat(world.pool.usedSlots()).isEqualTo(-1);
    }

    @Test
    @DisplayName("SWR-1")
    void releaseOutsideThePoolIsABug() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        assertThatThrownBy(() -> world.unmap(device, 0x100_0000, 1)).isInstanceOf(KernelBugException.class);
        assertThatThrownBy(() -> world.slots.release(0x204_0000, 0)).isInstanceOf(KernelBugException.class);
    }

    @Test
    void poolNeedsRoomForItsAreas() {
        assertThatThrownBy(() -> new IoTlbPool(0, 4, 8))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a pool of 4 slots cannot have 8 areas");
        assertThatThrownBy(() -> new IoTlbPool(0, 4, 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
