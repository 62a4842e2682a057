package io.pagewalk.backends.direct;

import static io.pagewalk.backends.direct.DirectWorld.HIGH;
import static io.pagewalk.backends.direct.DirectWorld.POOL_BASE;
import static io.pagewalk.dma.Dma.DMA_MAPPING_ERROR;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.memory.PhysRange;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Devices confined to a region of memory (dma-core:SWX-1 to SWX-6, DEV-9, ALC-6). */
class RestrictedPoolTest {
    private static final long BASE = 0x2000_0800L;
    private static final long SLOTS = 200;
    private static final long SLOT = 0x800;
    private static final String WIFI = "wifi";

    private final DirectWorld world = DirectWorld.of(b ->
            b.restrictedPools(RestrictedPool.of(WIFI, PhysRange.ofSize(BASE, SLOTS * SLOT + 0x7ff))));
    private final Swiotlb swiotlb = Swiotlb.of(world.machine);

    private Device confined() {
        return world.device(c -> c.withRestrictedPool(WIFI));
    }

    private SwiotlbPool mem() {
        return Objects.requireNonNull(swiotlb.restrictedMem(WIFI));
    }

    @Test
    @DisplayName("SWX-1: the first device makes the allocator of whole slots and one area, later ones share it")
    void firstDeviceMakesThePoolForAll() {
        assertThat(swiotlb.restrictedMem(WIFI)).isNull();
        Device first = confined();
        assertThat(mem().slots()).isEqualTo(200);
        assertThat(mem().areas()).isEqualTo(1);
        assertThat(mem().start()).isEqualTo(BASE);
        assertThat(mem().isForced()).isTrue();
        assertThat(mem().isForAlloc()).isTrue();
        assertThat(mem().name()).isEqualTo(WIFI);
        SwiotlbPool made = mem();
        Device second = confined();
        assertThat(swiotlb.ioTlbOf(first).mem()).isSameAs(made);
        assertThat(swiotlb.ioTlbOf(second).mem()).isSameAs(made);
        assertThat(first.dma().mapPage(0x5000, 0x10, TO_DEVICE, 0)).isEqualTo(BASE);
        assertThat(second.dma().mapPage(0x5000, 0x10, TO_DEVICE, 0)).isEqualTo(BASE + SLOT);
    }

    @Test
    @DisplayName("DEV-9: other devices keep the default allocator")
    void otherDevicesDoNotNotice() {
        confined();
        Device other = world.device(c -> c);
        assertThat(swiotlb.ioTlbOf(other).mem()).isSameAs(swiotlb.defaultMem());
        assertThat(other.dma().mapPage(0x5000, 0x10, TO_DEVICE, 0)).isEqualTo(0x5000);
        assertThat(swiotlb.defaultMem().isForAlloc()).isFalse();
        assertThat(swiotlb.defaultMem().name()).isEmpty();
    }

    @Test
    @DisplayName("the page allocator keeps off the region")
    void regionIsReserved() {
        assertThat(world.machine.pages().hasFreePagesWithin(BASE, SLOTS * SLOT)).isFalse();
    }

    @ParameterizedTest
    @DisplayName("SWX-1: a region with other properties is no restricted pool")
    @EnumSource
    void regionWithOtherPropertiesIsRejected(RestrictedPool.Property property) {
        RestrictedPool region = new RestrictedPool("cma", PhysRange.ofSize(0x2000_0000L, 0x10_0000), Set.of(property));
        DirectWorld other = DirectWorld.of(b -> b.restrictedPools(region));
        Device device = other.device(c -> c.withRestrictedPool("cma"));
        Swiotlb its = Swiotlb.of(other.machine);
        assertThat(its.attachRestricted(device, "cma")).isEqualTo(-Errno.EINVAL);
        assertThat(its.restrictedMem("cma")).isNull();
        assertThat(its.ioTlbOf(device).mem()).isSameAs(its.defaultMem());
        assertThat(other.complaints())
                .singleElement()
                .asString()
                .contains(device.name() + " cannot use the restricted pool cma: EINVAL");
    }

    @Test
    @DisplayName("SWX-1: no memory for the allocator is ENOMEM, and the next device tries again")
    void allocatorThatCannotBeHadIsEnomem() {
        world.machine.failures().failNth("swiotlb.restricted", 1);
        Device device = confined();
        assertThat(swiotlb.restrictedMem(WIFI)).isNull();
        assertThat(world.complaints()).singleElement().asString().contains("ENOMEM");
        assertThat(swiotlb.attachRestricted(device, WIFI)).isZero();
        assertThat(device.dma().mapPage(0x5000, 0x10, TO_DEVICE, 0)).isEqualTo(BASE);
    }

    @Test
    @DisplayName("SWX-2: detach restores the default allocator")
    void detachRestoresTheDefaultAllocator() {
        Device device = confined();
        swiotlb.detachRestricted(device);
        assertThat(device.dma().mapPage(0x5000, 0x10, TO_DEVICE, 0)).isEqualTo(0x5000);
        Device narrow = world.device(c -> c.withMask(0xffff_ffffL).withRestrictedPool(WIFI));
        swiotlb.detachRestricted(narrow);
        assertThat(narrow.dma().mapPage(HIGH, 0x10, TO_DEVICE, 0)).isEqualTo(POOL_BASE);
    }

    @Test
    @DisplayName("SWX-3: everything bounces, lists too, and nothing leaves the region")
    void everyMappingBounces() {
        Device device = confined();
        world.fill(0x5000, 0x100, 0x11);
        long dmaAddr = device.dma().mapPage(0x5000, 0x100, BIDIRECTIONAL, 0);
        assertThat(dmaAddr).isEqualTo(BASE);
        assertThat(device.bus().readLong(dmaAddr)).isEqualTo(0x1111_1111_1111_1111L);
        device.bus().writeLong(dmaAddr + 8, 0x22);
        device.dma().unmapPage(dmaAddr, 0x100, BIDIRECTIONAL, 0);
        assertThat(world.byteAt(0x5008)).isEqualTo(0x22);
        assertThat(device.dma().maxMappingSize()).isEqualTo(0x40000);
        world.assertIdle();
    }

    @Test
    @DisplayName("SWX-4, SWC-20: the last set is short, and is used to its end")
    void shortLastSetIsUsedToItsEnd() {
        Device device = confined();
        assertThat(device.dma().mapPage(0x10000, 0x40000, TO_DEVICE, 0))
                .as("128 slots, page rule, from a start that is half a page off")
                .isEqualTo(DMA_MAPPING_ERROR);
        assertThat(device.dma().mapPage(0x10000, 0x3f800, TO_DEVICE, 0)).isEqualTo(BASE + SLOT);
        assertThat(device.dma().mapPage(0x10000, 71 * SLOT, TO_DEVICE, 0)).isEqualTo(BASE + 129 * SLOT);
        assertThat(device.dma().mapPage(0x10000, 0x1000, TO_DEVICE, 0)).isEqualTo(DMA_MAPPING_ERROR);
        assertThat(mem().usedSlots()).isEqualTo(198);
        device.dma().unmapPage(BASE + 129 * SLOT, 71 * SLOT, TO_DEVICE, 0);
        device.dma().unmapPage(BASE + SLOT, 0x3f800, TO_DEVICE, 0);
        world.assertIdle();
    }

    @Test
    @DisplayName("SWX-5, ALC-6: coherent memory comes from the region, aligned to its order, zeroed")
    void coherentMemoryIsOfTheRegion() {
        Device device = confined();
        world.fill(0x2000_0000L, 0x10_0000, 0x77);
        CoherentBuffer page = device.dma().alloc(0x1000);
        CoherentBuffer three = device.dma().alloc(0x3000);
        assertThat(page.physAddr(0)).as("slot 1 begins a page").isEqualTo(0x2000_1000L);
        assertThat(three.physAddr(0)).isEqualTo(0x2000_4000L);
        assertThat(three.dmaAddr()).isEqualTo(0x2000_4000L);
        assertThat(three.getLong(0x2ff8)).isZero();
        assertThat(world.byteAt(0x2000_7000L)).as("6 slots").isEqualTo(0x77);
        assertThat(mem().usedSlots()).isEqualTo(8);
        device.dma().syncSingleForCpu(page.dmaAddr(), 0x1000, FROM_DEVICE);
        assertThat(page.getLong(0)).as("no original to sync with").isZero();
        page.close();
        three.close();
        world.assertIdle();
    }

    @Test
    @DisplayName("SWX-5, ALC-2: NO_KERNEL_MAPPING has no meaning in a region, and callers need not wait")
    void coherentMemoryOfTheRegionIsAlwaysMapped() {
        Device device = confined();
        world.fill(0x2000_1000L, 0x1000, 0x77);
        CoherentBuffer buffer = Objects.requireNonNull(
                device.dma().memory().allocAttrs(0x1000, Gfp.ATOMIC, DmaAttrs.NO_KERNEL_MAPPING));
        assertThat(buffer.physAddr(0)).isEqualTo(0x2000_1000L);
        assertThat(buffer.getLong(0)).isZero();
        buffer.close();
        world.assertIdle();
    }

    @Test
    @DisplayName("SWX-5: a full region gives null, silently")
    void fullRegionGivesNullSilently() {
        Device device = confined();
        assertThat(device.dma().allocCoherent(0x8_0000, 0)).isNull();
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.NO_MEMORY);
        assertThat(device.dma().lastFailure().numbers()).containsExactly(0x8_0000L, -1L);
        assertThat(world.complaints()).isEmpty();
        assertThat(mem().usedSlots()).isZero();
    }

    @Test
    @DisplayName("SWX-5: a page on the bus that is none physically is refused with a WARN")
    void slotsThatAreNoPageAreRefused() {
        Device askew = world.device(c -> c.withRestrictedPool(WIFI).withRanges(new DmaRange(0, 0x800, 1L << 40)));
        assertThat(askew.dma().allocCoherent(0x1000, 0)).isNull();
        assertThat(world.complaints()).singleElement().asString().contains("slots at 0x20000800 do not begin a page");
        assertThat(askew.dma().allocCoherent(0x1000, 0)).isNull();
        assertThat(world.complaints()).as("once").hasSize(1);
        assertThat(world.machine.log().count("swiotlb_alloc: unaligned page")).isEqualTo(2);
        world.assertIdle();
    }

    @Test
    @DisplayName("ALC-6, DIR-9: a region out of reach gives null and its slots back")
    void regionOutOfReachGivesNothing() {
        Device device = world.device(c -> c.withRestrictedPool(WIFI).withCoherentMask(0xff_ffffL));
        assertThat(device.dma().allocCoherent(0x1000, 0)).isNull();
        world.assertIdle();
    }

    @Test
    @DisplayName("FE-54, ALC-11: pages for streaming come from the region too")
    void streamingPagesAreOfTheRegion() {
        Device device = confined();
        var pages = Objects.requireNonNull(device.dma().memory().allocPages(0x1001, BIDIRECTIONAL, Gfp.KERNEL));
        assertThat(pages.physAddr()).isEqualTo(0x2000_2000L);
        assertThat(pages.dmaAddr()).isEqualTo(0x2000_2000L);
        assertThat(mem().usedSlots()).isEqualTo(4);
        device.dma().memory().freePages(0x1001, pages.physAddr(), pages.dmaAddr(), BIDIRECTIONAL);
        world.assertIdle();
    }

    @Test
    @DisplayName("SWX-6: free knows what is the pool's")
    void freeKnowsItsPages() {
        Device device = confined();
        long physAddr = mem().alloc(device, 0, 0x1000);
        assertThat(mem().free(device, BASE - 1)).isFalse();
        assertThat(mem().free(device, BASE + SLOTS * SLOT)).isFalse();
        assertThat(mem().usedSlots()).isEqualTo(2);
        assertThat(mem().free(device, physAddr)).isTrue();
        assertThat(mem().usedSlots()).isZero();
        DirectWorld poolless = DirectWorld.of(b -> b.commandLine("swiotlb=noforce"));
        SwiotlbPool none = Swiotlb.of(poolless.machine).defaultMem();
        assertThat(none.free(device, physAddr)).isFalse();
        assertThat(none.alloc(device, 0, 0x1000)).isEqualTo(-1L);
    }

    @Test
    @DisplayName("A6: coherent memory stays naturally aligned, whatever was mapped before")
    void coherentMemoryStaysAlignedAfterOddMappings() {
        RestrictedPool region = RestrictedPool.of("rmem", PhysRange.ofSize(0x97ff_0000L, 7168 * SLOT));
        DirectWorld board = DirectWorld.of(b -> b.restrictedPools(region));
        Device device = board.device(c -> c.withRestrictedPool("rmem"));
        for (int i = 0; i < 13; i++) {
            device.dma().mapPage(0x10_0000, 126 * SLOT, TO_DEVICE, 0);
        }
        device.dma().mapPage(0x10_0000, 5 * SLOT - 1, TO_DEVICE, 0);
        assertThat(device.dma().alloc(0x2000).dmaAddr() & 0x1fff).isZero();
        assertThat(device.dma().alloc(0x2000).dmaAddr() & 0x1fff).isZero();
    }

    @Test
    void unknownRegionIsNamed() {
        assertThatThrownBy(() -> world.device(c -> c.withRestrictedPool("none")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no restricted pool none among [RestrictedPool[name=wifi");
    }

    @Test
    void machineWithAnotherBackendShowsNoSwiotlb() {
        Machine virt = Machine.builder().ramBytes(64 << 20).backend("virt").build();
        assertThatThrownBy(() -> Swiotlb.of(virt))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("the backend virt shows no swiotlb");
    }
}
