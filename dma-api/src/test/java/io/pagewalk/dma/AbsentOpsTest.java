package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DmaPages;
import io.pagewalk.dma.spi.DummyOps;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/**
 * Operations that are not there: dma-core:SEL-6, SEL-7, FE-14, FE-20, FE-41, FE-43, FE-52, FE-54, FE-70, FE-71, MSK.
 */
class AbsentOpsTest {
    private static final DmaDirection OUT = DmaDirection.TO_DEVICE;

    /** Only what no operations can lack. */
    private static final class LeastOps implements DmaOps {
        private int unmapped;

        @Override
        public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
            return physAddr + 1;
        }

        @Override
        public void unmapPage(Device device, int cpu, long dmaAddr, long size, DmaDirection direction, int attrs) {
            unmapped++;
        }

        @Override
        public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
            return nents;
        }
    }

    private final LeastOps least = new LeastOps();
    private final World world = World.make(config -> config.withDmaOps(least).withStreamingMask(0xffff_ffffL));
    private final Dma dma = world.dma;
    private final SgTable sg = new SgTable(1).add(0x1000, 16);

    @Test
    @DisplayName("dma-core:SEL-6")
    void theMandatoryOperationsAreCalled() {
        assertThat(dma.mapPage(0x1000, 16, OUT, 0)).isEqualTo(0x1001);
        dma.unmapPage(0x1001, 16, OUT, 0);
        assertThat(least.unmapped).isEqualTo(1);
        assertThat(dma.mapSg(sg, 1, OUT, 0)).isEqualTo(1);
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    @DisplayName("dma-core:SEL-6, FE-41: missing op = no-op")
    void absentUnmapsAndSyncsDoNothing() {
        dma.unmapSg(sg, 1, OUT, 0);
        dma.unmapResource(0x1000, 16, OUT, 0);
        dma.syncSingleForCpu(0x1000, 16, OUT);
        dma.syncSingleForDevice(0x1000, 16, OUT);
        dma.syncSgForCpu(sg, 1, OUT);
        dma.syncSgForDevice(sg, 1, OUT);
        dma.memory().freePages(16, 0x1000, 0x1000, OUT);

        assertThat(world.machine.log().entries()).isEmpty();
        assertThat(least.unmapped).isZero();
        assertThat(world.backend.calls).isEmpty();
    }

    @Test
    @DisplayName("dma-core:FE-20: no ops method -> DMA_MAPPING_ERROR silently")
    void anAbsentResourceMapFailsSilentlyWithItsCause() {
        assertThat(dma.mapResource(0x1000, 16, OUT, 0)).isEqualTo(-1L);

        assertThat(world.machine.log().entries()).isEmpty();
        assertThat(dma.lastFailure().toString())
                .isEqualTo("NO_OPERATION (ENOMEM; give the device's operations that method)");
    }

    @Test
    @DisplayName("dma-core:FE-52, FE-54, FE-64: no alloc op -> null")
    void absentAllocationsGiveNothing() {
        assertThat(dma.memory().allocAttrs(0x1000, Gfp.KERNEL, 0)).isNull();
        assertThat(dma.lastFailure().reason()).isEqualTo(FailureReason.NO_OPERATION);
        dma.failureSlot().clear();
        assertThat(dma.memory().allocPages(0x1000, OUT, Gfp.KERNEL)).isNull();
        assertThat(dma.lastFailure().reason()).isEqualTo(FailureReason.NO_OPERATION);
        assertThat(dma.lastFailure().errno()).isEqualTo(12);
        assertThat(dma.memory().noncontiguous().alloc(0x1000, OUT, Gfp.KERNEL, 0))
                .isNull();
        assertThat(dma.memory().allocNoncoherent(0x1000, OUT, Gfp.KERNEL)).isNull();
    }

    @Test
    @DisplayName("dma-core:SEL-6: free may be absent")
    void anAbsentFreeLeavesTheMemoryWithWhoeverAllocatedIt() {
        DmaOps ops = new LeastOps();
        ops.freeCoherent(world.device, 0, CoherentPages.contiguous(0, 16, 0), 0);
        ops.freePages(world.device, 0, new DmaPages(0x1000, 0x1000, 0x1000), OUT);
        assertThat(world.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("dma-core:FE-70, FE-71, MSK-14")
    void absentMmapAndGetSgtableGiveEnxio() {
        CoherentPages pages = CoherentPages.contiguous(0x4000, 0x1000, 0x4000);
        SgTable empty = new SgTable(1);

        assertThat(least.getSgTable(world.device, empty, pages, 0x1000, 0)).isEqualTo(-6);
        assertThat(empty.origNents()).isZero();
        assertThat(least.mmap(world.device, new UserVma(1, 0), pages, 0x1000, 0).result())
                .isEqualTo(-6);
        assertThat(dma.memory().canMmap()).isFalse();
        assertThat(least.isDmaIommu(world.device)).isFalse();
    }

    @Test
    @DisplayName("dma-core:MSK-2, MSK-3, MSK-11 to MSK-13, FE-43")
    void absentLimitsAreTheDefaults() {
        assertThat(dma.requiredMask()).isEqualTo(0xffff_ffffL);
        assertThat(world.device.setMask(1)).isZero();
        assertThat(dma.maxMappingSize()).isEqualTo(-1L);
        assertThat(dma.optMappingSize()).isEqualTo(-1L);
        assertThat(dma.mergeBoundary()).isZero();
    }

    @Test
    @DisplayName("dma-core:MSK-8: true only if none of the four sync ops exist")
    void operationsWithoutSyncLetSyncBeSkippedOnceAMaskWasSet() {
        assertThat(dma.needSync(0x1000)).as("any non-direct: true").isTrue();
        assertThat(dma.devNeedSync()).isTrue();
        assertThat(world.device.setMask(-1L)).isZero();
        assertThat(world.device.skipsSync()).isTrue();
        assertThat(dma.devNeedSync()).isFalse();
        assertThat(dma.needSync(0x1000)).isFalse();
    }

    @Test
    @DisplayName("dma-core:SEL-7")
    void dummyOperationsMapNothing() {
        World dummy = World.make(config -> config.withDmaOps(new DummyOps()));

        assertThat(dummy.dma.mapPage(0x1000, 16, OUT, 0)).isEqualTo(-1L);
        assertThat(dummy.dma.lastFailure().reason()).isEqualTo(FailureReason.NO_OPERATION);
        dummy.dma.failureSlot().clear();
        assertThat(dummy.dma.mapSgTable(sg, OUT, 0)).isEqualTo(-22);
        assertThat(dummy.dma.lastFailure().errno()).isEqualTo(22);
        assertThat(dummy.dma.mapSg(sg, 1, OUT, 0)).isZero();
        assertThat(dummy.device.setMask(-1L)).isEqualTo(-5);
        assertThat(dummy.device.setCoherentMask(-1L)).isEqualTo(-5);
        assertThat(dummy.dma.memory().canMmap()).isFalse();
        assertThat(new DummyOps()
                        .mmap(dummy.device, new UserVma(1, 0), CoherentPages.contiguous(0, 16, 0), 16, 0)
                        .result())
                .isEqualTo(-6);
        assertThat(dummy.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("dma-core:SEL-7: unmap_* -> WARN-once")
    void dummyOperationsWarnOfEachKindOfUnmapOnce() {
        World dummy = World.make(config -> config.withDmaOps(new DummyOps()));
        for (int i = 0; i < 2; i++) {
            dummy.dma.unmapPage(0x1000, 16, OUT, 0);
            dummy.dma.unmapSg(sg, 1, OUT, 0);
            dummy.dma.unmapResource(0x1000, 16, OUT, 0);
        }

        assertThat(dummy.machine.log().entries())
                .extracting(KernelLog.Entry::site)
                .containsExactly("dma_dummy_unmap_page", "dma_dummy_unmap_sg", "dma_dummy_unmap_resource");
        assertThat(dummy.machine.log().count("dma_dummy_unmap_page")).isEqualTo(2);
        assertThat(dummy.machine.log().entries().get(0).text())
                .isEqualTo("nic must not do DMA, and unmaps (dma-core:SEL-7)");
    }

    @Test
    @DisplayName("dma-core:FE-14: without HAS_DMA")
    void aKernelWithoutDmaSupportsNoTable() {
        World none = World.make(
                World.builder().kernelConfig(KernelConfig.distribution().withHasDma(false)));
        sg.mapped(1);

        assertThat(none.dma.mapSgTable(sg, OUT, 0)).isEqualTo(-95);
        assertThat(sg.nents()).isEqualTo(1);
        assertThat(none.dma.mapSg(sg, 1, OUT, 0)).isZero();
        assertThat(none.dma.mapPage(0x1000, 16, OUT, 0)).isEqualTo(-1L);
        assertThat(none.dma.lastFailure().errno()).isEqualTo(95);
        none.dma.unmapPage(0x1000, 16, OUT, 0);
        none.dma.unmapSg(sg, 1, OUT, 0);
        assertThat(none.dma.memory().allocCoherent(16, 0)).isNull();
        assertThat(none.device.setMask(-1L)).isEqualTo(-5);
        assertThat(none.dma.requiredMask()).isZero();
        assertThat(none.dma.maxMappingSize()).isZero();
        assertThat(none.dma.optMappingSize()).isZero();
        assertThat(none.dma.needSync(0x1000)).isFalse();
        assertThat(none.machine.log().entries()).isEmpty();
        assertThat(none.backend.calls).isEmpty();
    }

    @Test
    @DisplayName("dma-core:FE-14: nor without a mask")
    void aKernelWithoutDmaDoesNotTakeAMissingMaskForASuccess() {
        World none = World.make(
                World.builder().kernelConfig(KernelConfig.distribution().withHasDma(false)),
                config -> config.withStreamingMask(null));

        assertThat(none.dma.mapSgTable(sg, OUT, 0)).isEqualTo(-95);
        assertThat(none.machine.log().entries()).isEmpty();
    }

    @Test
    @DisplayName("dma-core:FE-11: -EOPNOTSUPP of operations is no such answer")
    void onlyAKernelWithoutDmaMaySayThatItIsNotSupported() {
        world.backend.onMapSg = nents -> -95;
        Device plain = world.machine.addDevice(DeviceConfig.named("disk"));

        assertThat(plain.dma().mapSgTable(sg, OUT, 0)).isEqualTo(-5);
        assertThat(world.machine.log().count("dma_map_sg: result")).isEqualTo(1);
    }

    @Test
    void nullArgumentsAreRefused() {
        assertThatThrownBy(() -> dma.memory().allocPages(16, nullDirection(), 0))
                .isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> dma.memory().freePages(16, 0, 0, nullDirection()))
                .isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> dma.memory().noncontiguous().alloc(16, nullDirection(), 0, 0))
                .isInstanceOf(NullPointerException.class);
        assertThatThrownBy(() -> dma.memory().noncontiguous().free(16, sg, nullDirection()))
                .isInstanceOf(NullPointerException.class);
        assertThat(world.backend.calls).isEmpty();
    }

    @SuppressWarnings("NullAway")
    private static DmaDirection nullDirection() {
        return null;
    }
}
