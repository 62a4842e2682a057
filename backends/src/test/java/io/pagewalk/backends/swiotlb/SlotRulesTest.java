package io.pagewalk.backends.swiotlb;

import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.Machine;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rules of the pool, one by one (dma-core:SWC-20 to SWC-25, SWM-4 to SWM-8, SWS, SWB-2, SWB-11, SWR). */
class SlotRulesTest {
    private static final long START = PoolWorld.START;
    private static final long SLOT = 0x800;
    private static final long INVALID = SwiotlbLayout.INVALID_PHYS_ADDR;

    private static int[] freeRuns(PoolWorld world, int first, int count) {
        int[] runs = new int[count];
        for (int i = 0; i < count; i++) {
            runs[i] = world.slots.table().freeRun(first + i);
        }
        return runs;
    }

    // ---- the pool

    @Test
    @DisplayName("SWC-20, SWC-21: a new pool's slots, areas and counters")
    void newPoolIsFree() {
        PoolWorld world = new PoolWorld(512, 4);
        assertThat(world.slots.areaSlots()).isEqualTo(128);
        assertThat(world.slots.sizeBytes()).isEqualTo(0x10_0000);
        assertThat(freeRuns(world, 126, 4)).containsExactly(2, 1, 128, 127);
        assertThat(world.slots.table().origAddr(7)).isEqualTo(INVALID);
        assertThat(world.slots.table().allocSize(7)).isZero();
        assertThat(world.slots.table().padSlots(7)).isZero();
        assertThat(world.slots.area(3).index()).isZero();
        assertThat(world.slots.area(3).used()).isZero();
    }

    @Test
    @DisplayName("SWC-22 to SWC-25, DIR-13: the allocator's numbers are its pool's; base and limit are its ends")
    void allocatorShowsItsPool() {
        Machine machine = Machine.builder()
                .ramBytes(6L << 30)
                .commandLine("swiotlb=512,1")
                .backendOptions(io.pagewalk.dma.spi.BackendOptions.NONE.with(SwiotlbBoot.POOL_BASE_OPTION, 0x1000_0000))
                .build();
        Swiotlb swiotlb = Swiotlb.of(machine);
        assertThat(swiotlb.defaultMem().slots()).isEqualTo(512);
        assertThat(swiotlb.defaultMem().isActive()).isTrue();
        assertThat(swiotlb.defaultBase()).isEqualTo(0x1000_0000);
        assertThat(swiotlb.defaultLimit()).isEqualTo(0x100f_ffff);
        Device device = machine.addDevice(DeviceConfig.named("dev"));
        assertThat(swiotlb.defaultMem().contains(device, 0x0fff_ffff)).isFalse();
        assertThat(swiotlb.defaultMem().contains(device, 0x1000_0000)).isTrue();
        assertThat(swiotlb.defaultMem().contains(device, 0x100f_ffff)).isTrue();
        assertThat(swiotlb.defaultMem().contains(device, 0x1010_0000)).isFalse();
        swiotlb.exit();
        assertThat(swiotlb.defaultBase()).isEqualTo(-1L);
        assertThat(swiotlb.defaultLimit()).isEqualTo(-1L);
        assertThat(swiotlb.defaultMem().isActive()).isFalse();
    }

    // ---- mapping

    /** SWM-3, SWM-4: what an allocation takes, with its offset and rounded to its alignment. */
    @ParameterizedTest
    @CsvSource({
        "0x345e78, 0x200, 0, 0, 0x200",
        "0x345e78, 0x200, 0xfff, 0, 0x878",
        "0x345e78, 0x200, 0xfff, 0xfff, 0x2000",
        "0x345e78, 0x188, 0xfff, 0xfff, 0x1000",
        "0x345e78, 0x200, 0x3ff, 0xfff, 0x1000",
        "0x345e78, 0xd89, 0x3ff, 0xfff, 0x2000",
        "0x345e78, 0x1000, 0, 0xfff, 0x1000",
        "0x345e78, 0x1001, 0, 0xfff, 0x2000"
    })
    void totalIsOffsetAndSizeRounded(String orig, String size, String minAlign, String alignMask, String total) {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(Integer.decode(minAlign));
        world.map(device, 0, Long.decode(orig), Long.decode(size), Long.decode(alignMask));
        assertThat(world.pool.usedSlots()).isEqualTo((Long.decode(total) + SLOT - 1) / SLOT);
    }

    @Test
    @DisplayName("SWM-8: originals begin behind the padding, unaligned, a slot apart; the padding has none")
    void originalsBeginBehindThePadding() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0xfff);
        assertThat(world.map(device, 0, 0x345e78, 0x1200, 0xfff)).isEqualTo(START + 0xe78);
        SlotTable table = world.slots.table();
        assertThat(new long[] {table.origAddr(0), table.origAddr(1), table.origAddr(2), table.origAddr(5)})
                .containsExactly(INVALID, 0x345e78, 0x346678, 0x347e78);
        assertThat(new int[] {table.padSlots(0), table.padSlots(1), table.padSlots(2)})
                .containsExactly(0, 1, 0);
        assertThat(world.pool.usedSlots()).isEqualTo(6);
        assertThat(table.origAddr(6)).isEqualTo(INVALID);
    }

    // ---- search

    @Test
    @DisplayName("SWS-1, SWS-8: a pool that starts off a slot's multiple fits nothing, whatever its own addresses")
    void poolOffASlotsMultipleFitsNothing() {
        PoolWorld world = new PoolWorld(START + 0x400, 128, 1);
        assertThat(world.map(world.device(0), 0x10000, 1)).isEqualTo(INVALID);
    }

    @Test
    @DisplayName("SWS-1: the pool's place in its boundary counts, by whole slots rounded up")
    void boundaryCountsFromThePoolsPlaceInIt() {
        PoolWorld world = new PoolWorld(START + 0x3000, 128, 1);
        Device device = world.device(0x7ff, 0x3fff);
        assertThat(world.map(device, 0x10000, 3 * SLOT))
                .as("2 slots are left of the first")
                .isEqualTo(START + 0x4000);
    }

    @Test
    @DisplayName("SWS-2: the page rule begins at a page, and ends with any alignment of the device")
    void pageRuleIsForDevicesWithoutAlignment() {
        PoolWorld world = new PoolWorld(256, 1);
        Device plain = world.device(0);
        world.map(plain, 0x10000, 1);
        assertThat(world.map(plain, 0x10000, 0xfff)).isEqualTo(START + SLOT);
        assertThat(world.map(plain, 0x10000, 0x1000)).isEqualTo(START + 4 * SLOT);
        Device device = world.device(0x1);
        assertThat(world.map(device, 0x10000, 0x1000)).as("no page rule").isEqualTo(START + 6 * SLOT);
        world.map(device, 0x10000, 1);
        assertThat(world.map(device, 0x10000, 0x1000)).isEqualTo(START + 9 * SLOT);
    }

    @Test
    @DisplayName("SWS-3: an alignment of the allocation takes its bits from the original's")
    void allocationsAlignmentWinsOverTheOriginals() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0x1fff);
        world.slots.area(0).startNextSearchAt(1);
        assertThat(world.map(device, 0, 0x11800, 0x800, 0xfff))
                .as("a page of its own, at an odd page as bit 12 asks")
                .isEqualTo(START + 0x1800);
        assertThat(world.map(device, 0, 0x10800, 0x800, 0xfff)).isEqualTo(START + 0x2800);
    }

    @Test
    @DisplayName("SWS-3, SWS-4: strides are as long as the alignment that asks for most")
    void strideIsTheLargerAlignment() {
        PoolWorld world = new PoolWorld(128, 1);
        Device plain = world.device(0);
        for (int slot = 0; slot < 128; slot += 8) {
            world.slots.area(0).startNextSearchAt(slot);
            world.map(plain, 0x10000, 1);
        }
        world.slots.area(0).startNextSearchAt(0);
        assertThat(world.map(plain, 0, 0x10000, 0x800, 0x3fff))
                .as("slots 0, 8, 16... are taken, and others are not looked at")
                .isEqualTo(INVALID);
        assertThat(world.map(plain, 0, 0x10000, 0x800, 0x1fff)).isEqualTo(START + 4 * SLOT);
    }

    @Test
    @DisplayName("SWS-4: an area without enough free slots is not scanned")
    void areaWithoutEnoughFreeSlotsIsLeftOut() {
        PoolWorld world = new PoolWorld(256, 2);
        Device device = world.device(0);
        world.map(device, 0, 0x10000, 127 * SLOT, 0);
        assertThat(world.map(device, 0, 0x10000, 2 * SLOT - 1, 0)).isEqualTo(START + 128 * SLOT);
        assertThat(world.slots.area(0).index()).isEqualTo(127);
    }

    @Test
    @DisplayName("SWS-9, SWS-10: a claim counts sizes down and renumbers the free slots below, to the set's start")
    void claimRenumbersBelow() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0x7ff);
        world.slots.area(0).startNextSearchAt(131);
        assertThat(world.map(device, 0x10010, 0x1000)).isEqualTo(START + 131 * SLOT + 0x10);
        assertThat(freeRuns(world, 126, 9)).containsExactly(2, 1, 3, 2, 1, 0, 0, 0, 122);
        SlotTable table = world.slots.table();
        assertThat(new long[] {table.allocSize(131), table.allocSize(132), table.allocSize(133)})
                .as("without the offset; the last wraps")
                .containsExactly(0x1000, 0x800, 0);
    }

    @Test
    @DisplayName("SWS-11, SWS-13: success moves the index and the counters, failure and release move nothing back")
    void onlySuccessMovesTheIndex() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        long first = world.map(device, 0x10000, 3 * SLOT - 1);
        assertThat(world.slots.area(0).index()).isEqualTo(3);
        assertThat(world.slots.area(0).used()).isEqualTo(3);
        assertThat(world.slots.usage().used()).isEqualTo(3);
        assertThat(world.slots.usage().hiwater()).isEqualTo(3);
        world.map(device, 0x10000, 126 * SLOT);
        assertThat(world.slots.area(0).index()).isEqualTo(3);
        world.unmap(device, first, 1);
        assertThat(world.slots.area(0).index()).isEqualTo(3);
        assertThat(world.slots.area(0).used()).isZero();
        assertThat(world.slots.usage().hiwater()).as("SWR-5").isEqualTo(3);
        world.slots.area(0).startNextSearchAt(127);
        world.map(device, 0x10000, 1);
        assertThat(world.slots.area(0).index()).as("wraps at the end").isZero();
    }

    // ---- copies

    @Test
    @DisplayName("SWB-2, QRK-2, QRK-3: a sync inside a later slot may reach back below the slot's original")
    void syncReachesBackBelowASlotsOriginal() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0xfff);
        long tlbAddr = world.map(device, 0x345678, 0x1000);
        world.fill(tlbAddr, 0x1000, 0xee);
        world.pool.syncForCpu(device, 0, START + 0x800, 4, FROM_DEVICE);
        assertThat(world.bytes(0x345800, 4)).containsOnly(0xee);
        assertThat(world.bytes(0x3457fe, 2)).containsOnly(0);
        assertThat(world.bytes(0x345804, 2)).containsOnly(0);
    }

    @Test
    @DisplayName("SWB-11: an unmap to the device never copies, any other does unless told not to")
    void unmapCopiesBackWhatTheDeviceMayHaveWritten() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        assertThat(copiedAtUnmap(world, device, TO_DEVICE, 0)).isFalse();
        assertThat(copiedAtUnmap(world, device, FROM_DEVICE, 0)).isTrue();
        assertThat(copiedAtUnmap(world, device, BIDIRECTIONAL, 0)).isTrue();
        assertThat(copiedAtUnmap(world, device, BIDIRECTIONAL, DmaAttrs.SKIP_CPU_SYNC))
                .isFalse();
        world.assertIdle();
    }

    private static boolean copiedAtUnmap(
            PoolWorld world, Device device, io.pagewalk.dma.DmaDirection direction, int attrs) {
        world.fill(0x10000, 1, 0x11);
        long tlbAddr = world.pool.map(device, 0, 0x10000, 1, 0, direction, 0);
        world.fill(tlbAddr, 1, 0xee);
        world.pool.unmap(device, 0, tlbAddr, 1, direction, attrs);
        return world.bytes(0x10000, 1)[0] == (byte) 0xee;
    }

    // ---- release

    @Test
    @DisplayName("SWR-2 to SWR-4: a release joins what is free behind it in its set and below it")
    void releaseJoinsBothSides() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0x7ff);
        long[] tlb = new long[4];
        world.slots.area(0).startNextSearchAt(124);
        for (int i = 0; i < 4; i++) {
            tlb[i] = world.map(device, 0x10000, 1);
        }
        assertThat(freeRuns(world, 122, 7)).containsExactly(2, 1, 0, 0, 0, 0, 128);
        world.unmap(device, tlb[3], 1);
        assertThat(freeRuns(world, 122, 7)).as("the next set does not count").containsExactly(2, 1, 0, 0, 0, 1, 128);
        world.unmap(device, tlb[1], 1);
        assertThat(freeRuns(world, 122, 7)).containsExactly(2, 1, 0, 1, 0, 1, 128);
        world.unmap(device, tlb[2], 1);
        assertThat(freeRuns(world, 122, 7)).containsExactly(2, 1, 0, 3, 2, 1, 128);
        world.unmap(device, tlb[0], 1);
        assertThat(freeRuns(world, 122, 7)).containsExactly(6, 5, 4, 3, 2, 1, 128);
        assertThat(freeRuns(world, 0, 1)).containsExactly(128);
        world.assertIdle();
    }

    @Test
    @DisplayName("SWR-1, SWR-6: any address in the first slot releases all, with the same low bits")
    void anyAddressOfTheFirstSlotReleases() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0x1ff);
        long tlbAddr = world.map(device, 0x10110, 0x1000);
        world.unmap(device, tlbAddr + 0x200, 0x10);
        world.assertIdle();
    }

    @Test
    @DisplayName("SWR-6: a second release after reuse takes the new owner's slots")
    void lateSecondReleaseHitsTheNewOwner() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        long first = world.map(device, 0x10000, 0x100);
        world.unmap(device, first, 0x100);
        world.slots.area(0).startNextSearchAt(0);
        assertThat(world.map(device, 0x20000, 0x900)).isEqualTo(first);
        world.unmap(device, first, 0x100);
        assertThat(world.pool.usedSlots()).isZero();
        assertThat(freeRuns(world, 0, 1)).containsExactly(128);
    }

    @Test
    @DisplayName("SWR-1: a slot that is in no area is a BUG")
    void slotOfNoAreaIsABug() {
        IoTlbPool odd = new IoTlbPool(START, 129, 2);
        assertThat(odd.areaSlots()).isEqualTo(64);
        assertThatThrownBy(() -> odd.release(START + 128 * SLOT, 0))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("release of 0x2040000, which is in no area of the pool at 0x2000000+0x40800");
        odd.release(START + 127 * SLOT, 0);
    }

    @Test
    @DisplayName("SWR-7: behind the last slot of a cut pool nothing is free")
    void nothingIsFreeBehindACutPool() {
        PoolWorld world = new PoolWorld(130, 1);
        Device device = world.device(0);
        world.slots.area(0).startNextSearchAt(129);
        long last = world.map(device, 0x10000, 1);
        assertThat(freeRuns(world, 128, 2)).containsExactly(1, 0);
        world.unmap(device, last, 1);
        assertThat(freeRuns(world, 128, 2)).containsExactly(2, 1);
    }
}
