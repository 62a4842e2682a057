package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgTable;
import org.junit.jupiter.api.Test;

/** Sync calls and their skipping: dma-core:TYP-7, FE-40 to FE-43, MSK-8, DEV-8, SWM-7. */
class DmaSyncTest {
    private final World world = World.make();
    private final SgTable list = new SgTable(2).add(0x1000, 0x1000).add(0x3000, 0x1000);

    private void syncEverything(DmaDirection direction) {
        world.dma.syncSingleForCpu(0x1100, 0x10, direction);
        world.dma.syncSingleForDevice(0x1100, 0x10, direction);
        world.dma.syncSgForCpu(list, 1, direction);
        world.dma.syncSgForDevice(list, 1, direction);
        world.dma.syncSgTableForCpu(list, direction);
        world.dma.syncSgTableForDevice(list, direction);
    }

    @Test
    void syncCallsReachTheBackendUntilAMaskAllowsToSkipThem() { // FE-40 to FE-42, DEV-8
        list.mapped(1);
        syncEverything(DmaDirection.BIDIRECTIONAL);

        assertThat(world.backend.calls)
                .containsExactly(
                        "syncForCpu cpu 0 0x1100+0x10 BIDIRECTIONAL",
                        "syncForDevice cpu 0 0x1100+0x10 BIDIRECTIONAL",
                        "syncSgForCpu cpu 0 1 of 2 BIDIRECTIONAL",
                        "syncSgForDevice cpu 0 1 of 2 BIDIRECTIONAL",
                        "syncSgForCpu cpu 0 2 of 2 BIDIRECTIONAL",
                        "syncSgForDevice cpu 0 2 of 2 BIDIRECTIONAL");
    }

    @Test
    void skippedSyncCallsReachNobodyAndSeeNoDirection() { // TYP-7, FE-40
        assertThat(world.device.setMask(-1L)).isZero();
        assertThat(world.device.skipsSync()).isTrue();
        syncEverything(DmaDirection.NONE);

        assertThat(world.backend.calls).isEmpty();
        assertThatThrownBy(() -> world.dma.unmapPage(0x1000, 16, DmaDirection.NONE, 0))
                .isInstanceOf(KernelBugException.class);
    }

    @Test
    void aBounceEndsTheSkippingUntilTheNextMask() { // MSK-8, SWM-7
        world.device.setMask(-1L);
        world.device.stopSkippingSync();
        assertThat(world.device.skipsSync()).isFalse();
        world.dma.syncSingleForCpu(0x1000, 16, DmaDirection.FROM_DEVICE);
        assertThat(world.backend.calls).hasSize(1);

        world.device.setMask(-1L);
        assertThat(world.device.skipsSync()).isTrue();
    }

    @Test
    void onlyASuccessfulStreamingMaskDecidesOnSkipping() { // MSK-5, MSK-6, MSK-8
        world.device.setCoherentMask(-1L);
        assertThat(world.device.skipsSync()).isFalse();

        world.backend.supportsMask = mask -> false;
        world.device.setMask(-1L);
        assertThat(world.device.skipsSync()).isFalse();

        world.backend.supportsMask = mask -> true;
        world.device.setMaskAndCoherent(-1L);
        assertThat(world.device.skipsSync()).isTrue();

        world.backend.mayNeedSync = true;
        world.device.setMask(-1L);
        assertThat(world.device.skipsSync()).isFalse();
    }

    @Test
    void anAddressNeedsSyncWhenTheBackendSaysSoAndSyncIsNotSkipped() { // FE-43
        world.backend.needsSync = dmaAddr -> dmaAddr == 0x1000;
        assertThat(world.dma.needSync(0x1000)).isTrue();
        assertThat(world.dma.needSync(0x2000)).isFalse();

        world.device.setMask(-1L);
        assertThat(world.dma.needSync(0x1000)).isFalse();
    }
}
