package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.List;
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

    @Test
    void aRangeIsAPlainSyncAtAddressPlusOffset() { // FE-42
        world.dma.syncSingleRangeForCpu(0x1000, 0x234, 0x10, DmaDirection.FROM_DEVICE);
        world.dma.syncSingleRangeForDevice(0x1000, 0x800, 0x20, DmaDirection.BIDIRECTIONAL);
        world.dma.syncSingleRangeForCpu(-1L, 2, 0, DmaDirection.TO_DEVICE);

        assertThat(world.backend.calls)
                .containsExactly(
                        "syncForCpu cpu 0 0x1234+0x10 FROM_DEVICE",
                        "syncForDevice cpu 0 0x1800+0x20 BIDIRECTIONAL",
                        "syncForCpu cpu 0 0x1+0x0 TO_DEVICE");
    }

    private static List<String> syncEverything(World there) {
        SgTable sg = new SgTable(1).add(0x1000, 16);
        there.dma.syncSingleForCpu(0x1000, 16, DmaDirection.TO_DEVICE);
        there.dma.syncSingleForDevice(0x1000, 16, DmaDirection.TO_DEVICE);
        there.dma.syncSgForCpu(sg, 1, DmaDirection.TO_DEVICE);
        there.dma.syncSgForDevice(sg, 1, DmaDirection.TO_DEVICE);
        return there.backend.calls;
    }

    @Test
    void withDmaDebugSyncCallsAreNeverSkipped() { // FE-40, FE-43
        World debug = World.make(
                World.builder().kernelConfig(KernelConfig.distribution().withDmaApiDebug(true)));
        debug.device.setMask(-1L);

        assertThat(debug.device.skipsSync()).isTrue();
        assertThat(debug.dma.devNeedSync()).isTrue();
        assertThat(debug.dma.needSync(0x1000)).as("the path decides").isTrue();
        debug.backend.needsSync = dmaAddr -> false;
        assertThat(debug.dma.needSync(0x1000)).isFalse();
        assertThat(syncEverything(debug)).hasSize(4);
        assertThatThrownBy(() -> debug.dma.syncSingleForCpu(0, 0, DmaDirection.NONE))
                .isInstanceOf(KernelBugException.class);
    }

    @Test
    void withoutDmaNeedSyncAllSyncCallsVanish() { // FE-40, FE-43, TYP-7
        World none = World.make(World.builder()
                .kernelConfig(KernelConfig.distribution().withDmaNeedSync(false).withDmaApiDebug(true)));
        none.backend.mayNeedSync = true;

        for (int i = 0; i < 2; i++) {
            assertThat(none.dma.devNeedSync()).isFalse();
            assertThat(none.dma.needSync(0x1000)).isFalse();
            assertThat(syncEverything(none)).isEmpty();
            none.dma.syncSingleForDevice(0, 0, DmaDirection.NONE);
            none.device.setMask(-1L);
            assertThat(none.device.skipsSync()).isFalse();
        }
    }

    @Test
    void aDeviceNeedsSyncUntilAMaskWasSetAndAgainFromABounceOn() { // FE-43, MSK-8, SWM-7
        assertThat(world.dma.devNeedSync()).isTrue();
        world.device.setMask(-1L);
        assertThat(world.dma.devNeedSync()).isFalse();
        assertThat(syncEverything(world)).isEmpty();
        world.device.stopSkippingSync();
        assertThat(world.dma.devNeedSync()).isTrue();
        assertThat(syncEverything(world)).hasSize(4);
    }
}
