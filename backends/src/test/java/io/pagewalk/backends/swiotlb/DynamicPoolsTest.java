package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.AllocatedBytes;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.Metric;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** An allocator that may grow, in the world of {@link DynamicWorld}: a default pool of 128 slots for each area. */
class DynamicPoolsTest {
    private static final long START = DynamicWorld.START;
    private static final long PAGES = DynamicWorld.PAGES;
    private static final long ORIG = 0x10_0000;
    private static final long NOWHERE = -1L;

    // ---- transient pools

    @Test
    @DisplayName("SWD-2, SWD-4, SWD-6: a full allocator serves a mapping from a pool of its own, and queues its growth")
    void aFullAllocatorServesAMappingFromAPoolOfItsOwn() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.fill(device);
        assertThat(world.map(device, ORIG, 0x1001)).isEqualTo(PAGES);
        assertThat(world.pool.transientSlots()).as("3 slots of a block of 4").isEqualTo(3);
        assertThat(world.allocatedPages()).isEqualTo(2);
        assertThat(world.pool.slots()).as("nslabs").isEqualTo(128);
        assertThat(world.pool.usedSlots()).as("total_used").isEqualTo(131);
        assertThat(world.pool.usedHiwater()).isEqualTo(131);
        assertThat(world.growth().isArmed()).isTrue();
        assertThat(world.map(device, ORIG, 1)).as("one pool for each").isEqualTo(PAGES + 0x2000);
        assertThat(world.pool.transientSlots()).isEqualTo(4);
        assertThat(world.pool.usedSlots()).isEqualTo(132);
        assertThat(world.machine.log().entries()).isEmpty();
        assertThat(world.broken()).isEmpty();
    }

    @Test
    @DisplayName("SWC-20, SWB-6: a transient pool is zeroed, and begins as a copy of the buffer")
    void aTransientPoolIsZeroedBeforeItsCopy() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.fill(device);
        world.fill(PAGES, 0x2000, 0x99);
        world.fill(ORIG, 0x1000, 0x42);
        long tlbAddr = world.map(device, ORIG, 0x900);
        assertThat(tlbAddr).isEqualTo(PAGES);
        assertThat(world.bytes(PAGES, 0x900)).containsOnly(0x42);
        assertThat(world.bytes(PAGES + 0x900, 0x700)).containsOnly(0);
        assertThat(world.bytes(PAGES + 0x1000, 0x10)).as("not the pool's").containsOnly((byte) 0x99);
    }

    @Test
    @DisplayName("SWD-8: unmap copies back, and the pool's memory is free after a grace period")
    void unmapOfATransientPoolFreesItAfterAGracePeriod() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        List<Long> filled = world.fill(device);
        long tlbAddr = world.map(device, ORIG, 0x1800);
        world.growth().cancel();
        world.fill(tlbAddr, 0x1800, 0x33);
        world.unmap(device, tlbAddr, 0x1800);
        assertThat(world.bytes(ORIG, 0x1800)).containsOnly(0x33);
        assertThat(world.pool.transientSlots()).isZero();
        assertThat(world.pool.usedSlots()).isEqualTo(128);
        assertThat(world.pool.usedHiwater()).isEqualTo(131);
        assertThat(world.pool.contains(device, tlbAddr)).isFalse();
        assertThat(world.allocatedPages()).as("somebody may still be looking").isEqualTo(2);
        filled.forEach(address -> world.unmap(device, address, 0x4_0000));
        assertThat(world.held()).containsExactly("swiotlb: 1 transient pools wait for their grace period");
        world.machine.clock().advance(TransientPools.GRACE_NANOS - 1);
        assertThat(world.allocatedPages()).isEqualTo(2);
        world.machine.clock().advance(1);
        assertThat(world.allocatedPages()).isZero();
        assertThat(world.held()).isEmpty();
        assertThat(world.broken()).isEmpty();
        assertThat(world.grace().isArmed()).isFalse();
    }

    @Test
    @DisplayName("SWD-8: each pool has a grace period of its own")
    void eachPoolHasAGracePeriodOfItsOwn() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.fill(device);
        long first = world.map(device, ORIG, 1);
        long second = world.map(device, ORIG, 0x2000);
        world.growth().cancel();
        world.unmap(device, first, 1);
        world.machine.clock().advance(TransientPools.GRACE_NANOS / 2);
        world.unmap(device, second, 0x2000);
        world.machine.clock().advance(TransientPools.GRACE_NANOS / 2);
        assertThat(world.allocatedPages()).as("the first is gone").isEqualTo(2);
        assertThat(world.grace().isArmed()).isTrue();
        world.machine.clock().advance(TransientPools.GRACE_NANOS / 2 - 1);
        assertThat(world.allocatedPages()).isEqualTo(2);
        world.machine.clock().advance(1);
        assertThat(world.allocatedPages()).isZero();
    }

    @Test
    @DisplayName("SWD-5: the search may find nothing in a pool that is only as large as the request")
    void theSearchMayFailInATransientPool() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device filler = world.device("filler");
        Device nvme = world.machine.addDevice(
                DeviceConfig.named("nvme").withMask(DynamicWorld.MASK_32).withMinAlignMask(0xfff));
        world.fill(filler);
        assertThat(world.map(nvme, ORIG + 0x800, 0x200)).as("needs slot 1").isEqualTo(NOWHERE);
        assertThat(world.allocatedPages()).as("freed at once").isZero();
        assertThat(world.pool.transientSlots()).isZero();
        assertThat(world.pool.usedSlots()).isEqualTo(128);
        assertThat(nvme.usesIoTlb()).isFalse();
        assertThat(world.growth().isArmed()).as("queued all the same").isTrue();
        assertThat(world.lastLogged()).contains("(sz: 512 bytes), total 128 (slots), used 128 (slots)");
        assertThat(world.why(nvme).reason()).isEqualTo(FailureReason.POOL_FULL);
        assertThat(world.map(nvme, ORIG + 0x200, 0x200)).as("slot 0 will do").isEqualTo(PAGES + 0x200);
        assertThat(world.pool.transientSlots()).isEqualTo(1);
    }

    @Test
    @DisplayName("SWS-21, SWM-11: what no set holds fails at once, and nothing grows for it")
    void whatNoSetHoldsFailsAtOnce() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.machine.failures().failNth(Long.MAX_VALUE);
        assertThat(world.map(device, ORIG, 0x4_0001)).isEqualTo(NOWHERE);
        assertThat(world.machine.failures().passed())
                .as("the slots' point alone")
                .isEqualTo(1);
        assertThat(world.growth().isArmed()).isFalse();
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.EXCEEDS_MAX_MAPPING);
        assertThat(world.lastLogged()).contains("(sz: 262145 bytes), total 128 (slots), used 0 (slots)");
        assertThat(world.map(device, ORIG, 0x4_0000)).isEqualTo(START);
        assertThat(world.map(device, ORIG, 0x4_0000))
                .as("the largest transient pool")
                .isEqualTo(PAGES);
        assertThat(world.pool.transientSlots()).isEqualTo(128);
    }

    @Test
    @DisplayName("SWM-12, SWS-1: what no search could answer is a BUG here too")
    void whatNoSearchCouldAnswerIsABug() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        Device odd = world.machine.addDevice(DeviceConfig.named("odd").withSegments(0, 0x7ff));
        odd.setSegmentBoundaryMask(0x17ff);
        assertThatThrownBy(() -> world.map(device, ORIG, 0)).isInstanceOf(KernelBugException.class);
        assertThatThrownBy(() -> world.map(odd, ORIG, 1)).isInstanceOf(KernelBugException.class);
        assertThatThrownBy(() -> world.map(device, 0xff00_0000L, 0x100))
                .isInstanceOf(KernelBugException.class)
                .hasMessageContaining("is not RAM");
        assertThat(world.held()).isEmpty();
        world.fill(device);
        assertThatThrownBy(() -> world.map(device, 0xff00_0000L, 0x100)).isInstanceOf(KernelBugException.class);
        assertThat(world.pool.transientSlots()).isZero();
    }

    // ---- growth

    @Test
    @DisplayName("SWD-3, SWC-23: the worker adds a pool of the default size at the head of the list")
    void theWorkerAddsAPoolOfTheDefaultSize() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.fill(device);
        long tlbAddr = world.map(device, ORIG, 0x1000);
        world.fill(PAGES + 0x8_0000, 0x8_0000, 0x99);
        world.work();
        assertThat(world.growth().isArmed()).isFalse();
        assertThat(world.pool.slots()).isEqualTo(128 + 256);
        assertThat(world.allocatedPages()).isEqualTo(1 + 128);
        IoTlbPool grown = world.dynamic.lasting()[0];
        assertThat(grown.start()).isEqualTo(PAGES + 0x8_0000);
        assertThat(grown.areaCount()).isEqualTo(2);
        assertThat(grown.isTransient()).isFalse();
        assertThat(world.dynamic.lasting()[1]).isSameAs(world.slots);
        assertThat(world.bytes(grown.start(), 0x8_0000)).containsOnly(0);
        assertThat(world.map(device, ORIG, 0x800)).isEqualTo(grown.start());
        assertThat(world.pool.usedSlots()).isEqualTo(128 + 2 + 1);
        assertThat(world.pool.start()).as("the default pool").isEqualTo(START);
        assertThat(world.pool.areas()).isEqualTo(1);
        world.unmap(device, tlbAddr, 0x1000);
        world.unmap(device, grown.start(), 0x800);
        assertThat(world.pool.usedSlots()).isEqualTo(128);
        assertThat(world.pool.slots()).as("SWD-9: never freed").isEqualTo(384);
        assertThat(world.broken()).isEmpty();
    }

    @Test
    @DisplayName("SWD-3: at most 4 MiB, and areas of at least a set")
    void aPoolIsAsLargeAsABlockOfPagesAtMost() {
        DynamicWorld world = new DynamicWorld(1, 32768, 32);
        Device device = world.device("nic");
        world.fill(device);
        world.map(device, ORIG, 1);
        world.work();
        IoTlbPool grown = world.dynamic.lasting()[0];
        assertThat(grown.slots()).isEqualTo(2048);
        assertThat(grown.areaCount()).isEqualTo(16);
        assertThat(grown.start()).isEqualTo(PAGES + 0x40_0000);
    }

    @Test
    @DisplayName("SWD-3: without such a block, half of it, down to 512 slots")
    void aPoolIsHalvedUntilThereIsABlock() {
        DynamicWorld world = new DynamicWorld(1, 2048, 16, PhysRange.ofSize(PAGES, 0x20_0000));
        Device device = world.device("nic");
        world.fill(device);
        world.map(device, ORIG, 1);
        world.work();
        assertThat(world.dynamic.lasting()[0].slots()).isEqualTo(512);
        assertThat(world.dynamic.lasting()[0].areaCount()).isEqualTo(4);
        assertThat(world.dynamic.lasting()[0].start()).isEqualTo(PAGES + 0x10_0000);
        world.machine.failures().failNth("swiotlb.grow", Long.MAX_VALUE);
        world.machine.failures().failNth("swiotlb.slots", 1);
        world.map(device, ORIG, 1);
        world.machine.failures().failNth("swiotlb.grow", Long.MAX_VALUE);
        world.work();
        assertThat(world.machine.failures().passed())
                .as("2048, 1024 and 512 slots")
                .isEqualTo(3);
        assertThat(world.pool.slots()).isEqualTo(128 + 512);
        assertThat(world.lastLogged())
                .isEqualTo("no memory for one more bounce pool below 0xffffffff (dma-core:SWD-3)");
    }

    @Test
    @DisplayName(
            "SWD-3: a default size below the smallest one is tried once; failures are told ten times in five seconds")
    void failuresOfTheWorkerAreToldInRate() {
        DynamicWorld world = new DynamicWorld(1, 256, 2, PhysRange.ofSize(PAGES, 0x4_0000));
        Device device = world.device("nic");
        world.fill(device);
        for (int i = 0; i < 12; i++) {
            world.map(device, ORIG, 1);
            world.work();
        }
        assertThat(world.machine.log().entries())
                .hasSize(10)
                .allMatch(e -> e.site().equals("swiotlb: growth"));
        assertThat(world.machine.log().count("swiotlb: growth")).isEqualTo(12);
        assertThat(world.machine.log().warnCount()).isZero();
        assertThat(world.pool.slots()).isEqualTo(128);
        assertThat(world.pool.transientSlots()).isEqualTo(12);
    }

    @Test
    @DisplayName("SWD-2: without can_grow a full allocator is full")
    void withoutCanGrowAFullAllocatorIsFull() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.dynamic.stopGrowing();
        world.fill(device);
        assertThat(world.map(device, ORIG, 1)).isEqualTo(NOWHERE);
        assertThat(world.growth().isArmed()).isFalse();
        assertThat(world.allocatedPages()).isZero();
        assertThat(world.lastLogged()).contains("(sz: 1 bytes), total 128 (slots), used 128 (slots)");
    }

    // ---- the search over several pools

    @Test
    @DisplayName("SWS-21: every pool's own area, newest first, comes before anybody's second area")
    void everyPoolsOwnAreaComesFirst() {
        DynamicWorld world = new DynamicWorld(2, 256, 2);
        Device device = world.device("nic");
        IoTlbPool grown = grow(world, device);
        long own = grown.start();
        assertThat(world.map(device, 2, ORIG, 0x4_0000)).isEqualTo(own);
        assertThat(world.map(device, 4, ORIG, 0x4_0000))
                .as("default pool, own area")
                .isEqualTo(START);
        assertThat(world.map(device, 6, ORIG, 0x4_0000))
                .as("newest, second area")
                .isEqualTo(own + 0x4_0000);
        assertThat(world.map(device, 0, ORIG, 0x4_0000)).isEqualTo(START + 0x4_0000);
        assertThat(world.growth().isArmed()).isFalse();
        assertThat(world.map(device, 0, ORIG, 0x4_0000)).isNotEqualTo(NOWHERE);
        assertThat(world.pool.transientSlots()).isEqualTo(128);
        assertThat(world.pool.slots()).isEqualTo(512);
    }

    @Test
    @DisplayName("SWS-21: a pool with fewer areas has no turn in later rounds")
    void aPoolWithFewerAreasIsSearchedLessOften() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        IoTlbPool grown = grow(world, device);
        assertThat(world.map(device, 1, ORIG, 0x4_0000)).isEqualTo(grown.start() + 0x4_0000);
        assertThat(world.map(device, 3, ORIG, 0x4_0000)).as("the one area").isEqualTo(START);
        assertThat(world.map(device, 5, ORIG, 0x4_0000)).isEqualTo(grown.start());
        assertThat(world.growth().isArmed()).isFalse();
    }

    @Test
    @DisplayName("SWS-22: rounds are counted by the configured areas, not by the pool's")
    void roundsAreCountedByTheConfiguredAreas() {
        DynamicWorld world = new DynamicWorld(2, 256, 1);
        Device device = world.device("nic");
        world.dynamic.stopGrowing();
        assertThat(world.map(device, 0, ORIG, 0x4_0000)).isEqualTo(START);
        assertThat(world.map(device, 0, ORIG, 0x800))
                .as("area 1 is out of sight")
                .isEqualTo(NOWHERE);
        world.defaults.set(new SwiotlbParameter(256, 2, false, false));
        assertThat(world.map(device, 0, ORIG, 0x800)).isEqualTo(START + 0x4_0000);
        world.defaults.set(new SwiotlbParameter(256, 0, false, false));
        assertThat(world.map(device, 1, ORIG, 0x800)).isEqualTo(NOWHERE);
    }

    /** Fills the pool, lets it grow and empties it; the transient pool's pages are free again. */
    private static IoTlbPool grow(DynamicWorld world, Device device) {
        List<Long> all = world.fill(device);
        long one = world.map(device, ORIG, 1);
        world.work();
        world.unmap(device, one, 1);
        all.forEach(address -> world.unmap(device, address, 0x4_0000));
        world.machine.clock().advance(TransientPools.GRACE_NANOS);
        assertThat(world.held()).isEmpty();
        IoTlbPool grown = world.dynamic.lasting()[0];
        assertThat(grown).isNotSameAs(world.slots);
        return grown;
    }

    // ---- finding the pool of an address

    @Test
    @DisplayName("SWC-24, SWD-7: a device that never bounced finds no pool")
    void aDeviceThatNeverBouncedFindsNoPool() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        Device other = world.device("other");
        assertThat(world.pool.contains(device, START)).isFalse();
        long tlbAddr = world.map(device, ORIG, 0x800);
        assertThat(device.usesIoTlb()).isTrue();
        assertThat(world.pool.contains(device, tlbAddr)).isTrue();
        assertThat(world.pool.contains(device, START + 0x4_0000)).isFalse();
        assertThat(world.pool.contains(other, tlbAddr)).isFalse();
        assertThat(other.usesIoTlb()).isFalse();
        world.fill(START, 0x800, 0x77);
        world.pool.syncForCpu(other, 0, tlbAddr, 0x800, DmaDirection.FROM_DEVICE);
        assertThat(world.bytes(ORIG, 0x800)).containsOnly(0);
        world.pool.syncForCpu(device, 0, tlbAddr, 0x800, DmaDirection.FROM_DEVICE);
        assertThat(world.bytes(ORIG, 0x800)).containsOnly(0x77);
        world.unmap(device, tlbAddr, 0x800);
        assertThat(device.usesIoTlb()).as("for good").isTrue();
        assertThat(world.pool.contains(device, tlbAddr)).isTrue();
        assertThatThrownBy(() -> world.unmap(other, tlbAddr, 0x800)).isInstanceOf(KernelBugException.class);
    }

    @Test
    @DisplayName("SWC-24, SWD-6: transient pools are their device's alone")
    void transientPoolsAreTheirDevicesAlone() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        Device other = world.device("other");
        world.fill(other);
        long mine = world.map(device, ORIG, 0x800);
        long mineToo = world.map(device, ORIG, 0x800);
        long theirs = world.map(other, ORIG + 0x1000, 0x800);
        assertThat(List.of(mine, mineToo, theirs)).containsExactly(PAGES, PAGES + 0x1000, PAGES + 0x2000);
        assertThat(world.pool.contains(device, mine)).isTrue();
        assertThat(world.pool.contains(device, mine + 0x800)).as("behind it").isFalse();
        assertThat(world.pool.contains(device, theirs)).isFalse();
        assertThat(world.pool.contains(other, mine)).isFalse();
        assertThat(world.pool.contains(other, START)).isTrue();
        world.unmap(device, mineToo, 0x800);
        assertThat(world.pool.contains(device, mine)).isTrue();
        assertThat(world.pool.contains(device, mineToo)).isFalse();
        assertThat(world.pool.transientSlots()).isEqualTo(2);
    }

    @Test
    @DisplayName("SWB-8, SWB-9: syncs find their pool among several")
    void syncsFindTheirPoolAmongSeveral() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        long grown = grow(world, device).start();
        assertThat(world.map(device, ORIG, 0x4_0000)).isEqualTo(grown);
        assertThat(world.map(device, ORIG, 0x4_0000)).isEqualTo(START);
        assertThat(world.map(device, ORIG, 0x4_0000)).isEqualTo(grown + 0x4_0000);
        long alone = world.map(device, ORIG + 0x1000, 0x1000);
        for (long tlbAddr : new long[] {grown, START, grown + 0x4_0000, alone}) {
            world.fill(tlbAddr + 0x100, 0x10, 0x5a);
            world.pool.syncForDevice(device, 0, tlbAddr + 0x100, 8, DmaDirection.TO_DEVICE);
            assertThat(world.bytes(tlbAddr + 0x100, 8)).containsOnly(0);
            assertThat(world.bytes(tlbAddr + 0x108, 8)).containsOnly(0x5a);
        }
        world.fill(alone, 0x1000, 0x66);
        world.pool.syncForCpu(device, 0, alone + 0x80, 0x40, DmaDirection.BIDIRECTIONAL);
        assertThat(world.bytes(ORIG + 0x1080, 0x40)).containsOnly(0x66);
        assertThat(world.bytes(ORIG + 0x1040, 0x40)).containsOnly(0);
    }

    // ---- pages, failures and numbers

    @Test
    @DisplayName("SWX-5, SWX-6: pages for coherent memory may be a transient pool too")
    void pagesMayBeATransientPool() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.fill(device);
        long pages = world.pool.alloc(device, 0, 0x3000);
        assertThat(pages).isEqualTo(PAGES);
        assertThat(world.pool.transientSlots()).isEqualTo(6);
        assertThat(world.pool.free(device, pages)).isTrue();
        assertThat(world.pool.transientSlots()).isZero();
        assertThat(world.pool.free(device, pages)).as("gone").isFalse();
        world.dynamic.stopGrowing();
        assertThat(world.pool.alloc(device, 0, 0x1000)).isEqualTo(NOWHERE);
    }

    @Test
    void eachResourceThatRunsOutIsAFailurePoint() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.machine.failures().failNth("swiotlb.slots", 1);
        assertThat(world.map(device, ORIG, 1)).as("served all the same").isEqualTo(PAGES);
        world.machine.failures().failNth("swiotlb.grow", 1);
        world.work();
        assertThat(world.machine.failures().failedAt()).isEqualTo("swiotlb.grow");
        assertThat(world.pool.slots()).isEqualTo(128);
        assertThat(world.map(world.device("filler"), ORIG, 0x4_0000)).isEqualTo(START);
        world.machine.failures().failNth("swiotlb.transient", 1);
        assertThat(world.map(device, ORIG, 1)).isEqualTo(NOWHERE);
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.POOL_FULL);
        assertThat(world.why(device).numbers()).containsExactly(1L, 0L, 0L, 128L);
        assertThat(world.map(device, ORIG, 1)).isEqualTo(PAGES + 0x1000);
    }

    @Test
    @DisplayName("SWM-6: a failure tells of all pools that stay")
    void aFailureTellsOfAllPoolsThatStay() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        grow(world, device);
        world.map(device, ORIG, 0x3_0000);
        world.map(device, ORIG, 0x3_8000);
        world.map(device, ORIG, 0x3_c000);
        long alone = world.map(device, ORIG, 0x2_0000);
        assertThat(world.pool.transientSlots()).isEqualTo(64);
        world.dynamic.stopGrowing();
        assertThat(world.map(device, ORIG, 0x2_0000)).isEqualTo(NOWHERE);
        assertThat(world.lastLogged()).contains("(sz: 131072 bytes), total 384 (slots), used 392 (slots)");
        assertThat(world.why(device).reason()).isEqualTo(FailureReason.POOL_FULL);
        assertThat(world.why(device).numbers()).containsExactly(64L, 56L, 32L, 384L);
        world.unmap(device, alone, 0x2_0000);
    }

    @Test
    @DisplayName("SWF-1: what is counted")
    void numbersAreReported() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.fill(device);
        long alone = world.map(device, ORIG, 0x1000);
        assertThat(metrics(world))
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        Metric.BYTES_BOUNCED, 0x4_1000L,
                        Metric.POOL_SLOTS, 128L,
                        Metric.POOL_PEAK_SLOTS, 130L,
                        Metric.POOL_USED_SLOTS, 130L,
                        Metric.POOL_TRANSIENT_SLOTS, 2L));
        world.unmap(device, alone, 0x1000);
        assertThat(metrics(world))
                .as("copies of a pool that is gone still count")
                .containsEntry(Metric.BYTES_BOUNCED, 0x4_2000L)
                .containsEntry(Metric.POOL_TRANSIENT_SLOTS, 0L);
        assertThat(world.pool.writeUsedHiwater(0)).isZero();
        assertThat(world.pool.usedHiwater()).isZero();
        assertThat(world.broken()).isEmpty();
    }

    private static Map<Metric, Long> metrics(DynamicWorld world) {
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        world.pool.report(metrics::put);
        return metrics;
    }

    @Test
    void hotPathsAllocateNothing() throws ReflectiveOperationException {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        grow(world, device);
        long alone = mapAlone(world, device);
        long bytes = new AllocatedBytes().during(20_000, () -> {
            long tlbAddr = world.map(device, ORIG, 0x200);
            world.pool.syncForCpu(device, 0, tlbAddr + 0x10, 0x20, DmaDirection.BIDIRECTIONAL);
            world.pool.syncForDevice(device, 0, alone, 0x20, DmaDirection.BIDIRECTIONAL);
            world.pool.syncForCpu(device, 0, ORIG, 0x20, DmaDirection.BIDIRECTIONAL);
            world.unmap(device, tlbAddr, 0x200);
        });
        assertThat(bytes / 20_000.0).isLessThan(0.2);
        world.unmap(device, alone, 0x20);
    }

    private static long mapAlone(DynamicWorld world, Device device) {
        world.machine.failures().failNth("swiotlb.slots", 1);
        long alone = world.map(device, ORIG, 0x20);
        world.machine.failures().disarm();
        assertThat(world.pool.transientSlots()).isEqualTo(1);
        return alone;
    }

    @Test
    @DisplayName("SWD-8: what is given back twice is found no more")
    void aTransientPoolIsGivenBackOnce() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        long alone = mapAlone(world, device);
        world.unmap(device, alone, 0x20);
        assertThatThrownBy(() -> world.unmap(device, alone, 0x20))
                .isInstanceOf(KernelBugException.class)
                .hasMessage("0x3000000 is not in the bounce pool");
        assertThat(world.pool.usedSlots()).isZero();
        assertThat(world.pool.transientSlots()).isZero();
    }

    @Test
    void whatIsHeldAndWhatIsBrokenIsTold() {
        DynamicWorld world = new DynamicWorld(1, 256, 2);
        Device device = world.device("nic");
        world.machine.failures().failNth("swiotlb.slots", 1);
        world.map(device, 0x12_3000, 0x1000);
        assertThat(world.held()).hasSize(2);
        assertThat(world.held().get(0))
                .contains("pool at 0x3000000+0x1000: area 0 has 2 slots in use, the first is 0 for original 0x123000");
        assertThat(world.held().get(1)).contains("pool at 0x2000000+0x40000: 2 slots are in use");
        world.slots.table().claim(5, 1, 0x800);
        assertThat(world.broken())
                .anyMatch(v -> v.contains("area 0 counts 0 slots in use, 1 are"))
                .anyMatch(v -> v.contains("its areas use 3 slots, its total says 2"));
        world.dynamic.transients().add(device, IoTlbPool.forOneMapping(PAGES + 0x8000, 2, world.slots.usage()));
        assertThat(world.pool.transientSlots()).isEqualTo(4);
    }
}
