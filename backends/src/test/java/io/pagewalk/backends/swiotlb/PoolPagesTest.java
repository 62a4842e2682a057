package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.spi.Metric;
import java.util.EnumMap;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Pages for coherent memory taken from a pool (SWX-5, SWX-6), and what an allocator reports of itself. */
class PoolPagesTest {
    private static final long SLOT = 0x800;

    @Test
    @DisplayName("SWX-5, EX-30: pages are aligned to their order and have no original; SWX-6: they go back whole")
    void pagesAreAlignedToTheirOrderAndGoBack() {
        PoolWorld world = new PoolWorld(256, 1);
        Device device = world.device(0);
        world.slots.area(0).startNextSearchAt(1);
        long three = world.pool.alloc(device, 0, 0x3000);
        assertThat(three).as("16 KiB aligned").isEqualTo(PoolWorld.START + 8 * SLOT);
        assertThat(world.pool.usedSlots()).isEqualTo(6);
        assertThat(world.slots.table().origAddr(8)).isEqualTo(INVALID_PHYS_ADDR);
        assertThat(world.slots.table().allocSize(8)).isEqualTo(0x3000);
        assertThat(world.pool.alloc(device, 0, 0x1000)).isEqualTo(PoolWorld.START + 14 * SLOT);
        assertThat(world.pool.alloc(device, 0, 0x2000)).isEqualTo(PoolWorld.START + 16 * SLOT);
        assertThat(world.pool.free(device, three)).isTrue();
        assertThat(world.pool.usedSlots()).isEqualTo(6);
        assertThat(world.slots.table().freeRun(8)).isEqualTo(6);
        assertThat(world.pool.free(device, PoolWorld.START + 14 * SLOT)).isTrue();
        assertThat(world.pool.free(device, PoolWorld.START + 16 * SLOT)).isTrue();
        world.assertIdle();
    }

    @Test
    @DisplayName("SWX-5: a full pool gives no page, silently")
    void fullPoolGivesNoPageSilently() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        assertThat(world.pool.alloc(device, 0, 0x4_0000)).isEqualTo(PoolWorld.START);
        assertThat(world.pool.alloc(device, 0, 0x1000)).isEqualTo(INVALID_PHYS_ADDR);
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("SWX-5: slots that are a page's on the bus but not physically warn once, and go back")
    void pageOfTheBusOnlyIsRefused() {
        PoolWorld world = new PoolWorld(PoolWorld.START + SLOT, 128, 1);
        Device shifted = world.device(DeviceConfig.named("shifted").withRanges(new DmaRange(SLOT, 0, 0x400_0000)));
        assertThat(world.pool.alloc(shifted, 0, 0x1000)).isEqualTo(INVALID_PHYS_ADDR);
        assertThat(world.machine.log().entries())
                .singleElement()
                .extracting(entry -> entry.text())
                .isEqualTo(shifted.name() + ": slots at 0x2000800 do not begin a page (dma-core:SWX-5)");
        world.assertIdle();
        assertThat(world.pool.alloc(shifted, 0, 0x1000)).isEqualTo(INVALID_PHYS_ADDR);
        assertThat(world.machine.log().warnCount()).isEqualTo(1);
        assertThat(world.machine.log().count("swiotlb_alloc: unaligned page")).isEqualTo(2);
        world.assertIdle();
    }

    @Test
    @DisplayName("SWX-6: a page outside the pool is not the pool's, and nothing happens")
    void pageOfSomebodyElseIsNotFreed() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        world.pool.alloc(device, 0, 0x1000);
        assertThat(world.pool.free(device, PoolWorld.START - 0x1000)).isFalse();
        assertThat(world.pool.free(device, PoolWorld.START + 128 * SLOT)).isFalse();
        assertThat(world.pool.usedSlots()).isEqualTo(2);
        SwiotlbPool none = new SwiotlbPool(world.machine, null, false);
        assertThat(none.alloc(device, 0, 0x1000)).isEqualTo(INVALID_PHYS_ADDR);
        assertThat(none.free(device, PoolWorld.START)).isFalse();
    }

    @Test
    @DisplayName("SWF-1: slots are reported where there are any, copied bytes always")
    void allocatorReportsWhatItCounted() {
        PoolWorld world = new PoolWorld(128, 1);
        Device device = world.device(0);
        long first = world.map(device, 0x10000, 0x1800);
        world.map(device, 0x10000, 0x100);
        world.unmap(device, first, 0x80);
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        world.pool.report(metrics::put);
        assertThat(metrics)
                .isEqualTo(Map.of(
                        Metric.BYTES_BOUNCED, 0x1980L,
                        Metric.POOL_SLOTS, 128L,
                        Metric.POOL_PEAK_SLOTS, 4L,
                        Metric.POOL_USED_SLOTS, 1L));
        Map<Metric, Long> ofNone = new EnumMap<>(Metric.class);
        new SwiotlbPool(world.machine, null, false).report(ofNone::put);
        assertThat(ofNone).isEqualTo(Map.of(Metric.BYTES_BOUNCED, 0L));
    }

    @Test
    @DisplayName("SWX-1: only a restricted pool is for allocations too, forced and named")
    void onlyARestrictedPoolIsForAllocations() {
        PoolWorld world = new PoolWorld(128, 1);
        assertThat(world.pool.isForAlloc()).isFalse();
        assertThat(world.pool.name()).isEmpty();
        SwiotlbPool wifi = SwiotlbPool.restricted(
                world.machine, world.slots, "wifi", new SwiotlbDefaults(SwiotlbParameter.DEFAULT));
        assertThat(wifi.isForAlloc()).isTrue();
        assertThat(wifi.isForced()).isTrue();
        assertThat(wifi.name()).isEqualTo("wifi");
    }
}
