package io.pagewalk.backends.direct;

import static io.pagewalk.backends.direct.DirectWorld.HIGH;
import static io.pagewalk.backends.direct.DirectWorld.MASK_32;
import static io.pagewalk.backends.direct.DirectWorld.POOL_BASE;
import static io.pagewalk.dma.DmaDirection.BIDIRECTIONAL;
import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** What caches are told, and when (dma-core:DIR-10, DIR-14, DIR-20 to DIR-23, SWM-10, DEV-7). */
class DirectCachesTest {
    private final RecordingCache cache = new RecordingCache();
    private final DirectWorld world = DirectWorld.of(b -> b.kernelConfig(cache.kernel()));

    private Dma incoherent(long mask) {
        return world.device(c -> c.withCoherent(false).withMask(mask)).dma();
    }

    @Test
    @DisplayName("DIR-10, DIR-14: a buffer in reach is cleaned at map, and invalidated at unmap")
    void directMappingMaintainsTheBuffersLines() {
        Dma dma = incoherent(-1);
        dma.mapPage(HIGH, 0x123, TO_DEVICE, 0);
        assertThat(cache.told()).containsExactly("for_device 0x100010000+0x123 TO_DEVICE");
        dma.unmapPage(HIGH, 0x123, TO_DEVICE, 0);
        assertThat(cache.told()).containsExactly("for_cpu 0x100010000+0x123 TO_DEVICE", "for_cpu_all");
        dma.mapPage(HIGH, 0x40, FROM_DEVICE, 0);
        dma.unmapPage(HIGH, 0x40, FROM_DEVICE, 0);
        assertThat(cache.told())
                .containsExactly(
                        "for_device 0x100010000+0x40 FROM_DEVICE",
                        "for_cpu 0x100010000+0x40 FROM_DEVICE",
                        "for_cpu_all",
                        "mark_clean 0x100010000+0x40");
    }

    @Test
    @DisplayName("ATTR-4: SKIP_CPU_SYNC leaves caches alone at map and unmap, bounced or not")
    void skippedSyncTellsCachesNothing() {
        Dma wide = incoherent(-1);
        wide.mapPage(HIGH, 0x40, BIDIRECTIONAL, DmaAttrs.SKIP_CPU_SYNC);
        wide.unmapPage(HIGH, 0x40, BIDIRECTIONAL, DmaAttrs.SKIP_CPU_SYNC);
        Dma narrow = incoherent(MASK_32);
        long dmaAddr = narrow.mapPage(HIGH, 0x40, BIDIRECTIONAL, DmaAttrs.SKIP_CPU_SYNC);
        narrow.unmapPage(dmaAddr, 0x40, BIDIRECTIONAL, DmaAttrs.SKIP_CPU_SYNC);
        assertThat(cache.told()).isEmpty();
        world.assertIdle();
    }

    @Test
    @DisplayName("SWM-10: of a bounced buffer it is the bounce buffer's lines that are cleaned, after the copy")
    void bounceCleansTheBounceBuffer() {
        world.fill(HIGH, 0x40, 0x11);
        cache.probe(() -> " pool " + world.byteAt(POOL_BASE));
        long dmaAddr = incoherent(MASK_32).mapPage(HIGH, 0x40, TO_DEVICE, 0);
        assertThat(dmaAddr).isEqualTo(POOL_BASE);
        assertThat(cache.told()).containsExactly("for_device 0x10000000+0x40 TO_DEVICE pool 17");
    }

    @Test
    @DisplayName("DIR-20: for the CPU caches come first, then the copy, then the clean mark")
    void cpuSyncInvalidatesBeforeItCopiesBack() {
        Dma dma = incoherent(MASK_32);
        long dmaAddr = dma.mapPage(HIGH, 0x80, FROM_DEVICE, 0);
        cache.told();
        world.fill(POOL_BASE, 0x80, 0x22);
        cache.probe(() -> " buffer " + world.byteAt(HIGH + 0x10));
        dma.syncSingleForCpu(dmaAddr + 0x10, 0x20, FROM_DEVICE);
        assertThat(cache.told())
                .containsExactly(
                        "for_cpu 0x10000010+0x20 FROM_DEVICE buffer 0",
                        "for_cpu_all",
                        "mark_clean 0x10000010+0x20 buffer 34");
        world.fill(HIGH, 0x80, 0);
        dma.unmapPage(dmaAddr, 0x80, FROM_DEVICE, 0);
        assertThat(cache.told())
                .as("unmap does the same, once")
                .containsExactly(
                        "for_cpu 0x10000000+0x80 FROM_DEVICE buffer 0",
                        "for_cpu_all",
                        "mark_clean 0x10000000+0x80 buffer 34");
        world.assertIdle();
    }

    @Test
    @DisplayName("DIR-21: for the device the copy comes first, then caches")
    void deviceSyncCopiesBeforeItCleans() {
        Dma dma = incoherent(MASK_32);
        long dmaAddr = dma.mapPage(HIGH, 0x80, TO_DEVICE, 0);
        cache.told();
        world.fill(HIGH, 0x80, 0x33);
        cache.probe(() -> " pool " + world.byteAt(POOL_BASE + 0x10));
        dma.syncSingleForDevice(dmaAddr + 0x10, 0x20, TO_DEVICE);
        assertThat(cache.told()).containsExactly("for_device 0x10000010+0x20 TO_DEVICE pool 51");
    }

    @Test
    @DisplayName("DIR-22: lists go entry by entry with the CPU's lengths, and all-of-them once at the end")
    void listsAreSyncedByTheCpusLengths() {
        Dma dma = incoherent(-1);
        SgTable sg = new SgTable(2).add(0x5000, 0x200).add(0x9000, 0x100);
        dma.mapSg(sg, 2, FROM_DEVICE, 0);
        assertThat(cache.told())
                .containsExactly("for_device 0x5000+0x200 FROM_DEVICE", "for_device 0x9000+0x100 FROM_DEVICE");
        sg.setDma(0, 0x5000, 0x10);
        dma.syncSgForCpu(sg, 2, FROM_DEVICE);
        assertThat(cache.told())
                .containsExactly(
                        "for_cpu 0x5000+0x200 FROM_DEVICE",
                        "mark_clean 0x5000+0x200",
                        "for_cpu 0x9000+0x100 FROM_DEVICE",
                        "mark_clean 0x9000+0x100",
                        "for_cpu_all");
        dma.syncSgForDevice(sg, 2, BIDIRECTIONAL);
        assertThat(cache.told())
                .containsExactly("for_device 0x5000+0x200 BIDIRECTIONAL", "for_device 0x9000+0x100 BIDIRECTIONAL");
        dma.unmapSg(sg, 2, TO_DEVICE, 0);
        assertThat(cache.told())
                .as("unmap goes by DMA lengths, each entry on its own (DIR-32)")
                .containsExactly(
                        "for_cpu 0x5000+0x10 TO_DEVICE",
                        "for_cpu_all",
                        "for_cpu 0x9000+0x100 TO_DEVICE",
                        "for_cpu_all");
    }

    @Test
    @DisplayName("DIR-20: a coherent device's pages are marked clean all the same, and nothing else happens")
    void coherentDeviceOnlyMarksClean() {
        Dma dma = world.device(c -> c.withMask(-1)).dma();
        dma.mapPage(HIGH, 0x40, FROM_DEVICE, 0);
        dma.syncSingleForDevice(HIGH, 0x40, FROM_DEVICE);
        dma.syncSgForCpu(new SgTable(1).add(HIGH, 0x40), 1, TO_DEVICE);
        assertThat(cache.told()).isEmpty();
        dma.unmapPage(HIGH, 0x40, FROM_DEVICE, 0);
        assertThat(cache.told()).containsExactly("mark_clean 0x100010000+0x40");
        dma.unmapPage(HIGH, 0x40, BIDIRECTIONAL, 0);
        assertThat(cache.told()).isEmpty();
    }

    @Test
    @DisplayName("DIR-40: a resource has no lines")
    void resourceTellsCachesNothing() {
        Dma dma = incoherent(-1);
        dma.mapResource(0xd000_0000L, 0x40, BIDIRECTIONAL, 0);
        dma.unmapResource(0xd000_0000L, 0x40, BIDIRECTIONAL, 0);
        assertThat(cache.told()).isEmpty();
    }

    @Test
    @DisplayName("SWM-10: a bounce buffer out of reach is not cleaned")
    void unreachableBounceTellsCachesNothing() {
        Device device = world.device(c -> c.withCoherent(false).withMask(0xff_ffffL));
        assertThat(device.dma().mapPage(HIGH, 0x40, BIDIRECTIONAL, 0)).isEqualTo(Dma.DMA_MAPPING_ERROR);
        assertThat(cache.told()).isEmpty();
        world.assertIdle();
    }

    @Test
    @DisplayName("DEV-7: without hooks every device is coherent")
    void withoutHooksEveryDeviceIsCoherent() {
        DirectWorld pc = DirectWorld.of(b -> b);
        Device device = pc.device(c -> c.withCoherent(false));
        assertThat(device.isCoherent()).isTrue();
        assertThat(device.setMask(-1)).isZero();
        assertThat(device.skipsSync()).isTrue();
        assertThat(world.device(c -> c.withCoherent(false)).isCoherent()).isFalse();
        assertThat(world.device(c -> c).isCoherent()).isTrue();
    }

    @Test
    @DisplayName("DIR-23: arm64 always cleans for the device, and invalidates for the CPU unless the device only read")
    void referenceArchitectureCleansAndInvalidates() {
        List<String> steps = new ArrayList<>();
        CacheMaintenance arm64 = CacheMaintenance.arm64(new CacheMaintenance.Lines() {
            @Override
            public void clean(long physAddr, long sizeBytes) {
                steps.add(String.format("clean 0x%x+0x%x", physAddr, sizeBytes));
            }

            @Override
            public void invalidate(long physAddr, long sizeBytes) {
                steps.add(String.format("invalidate 0x%x+0x%x", physAddr, sizeBytes));
            }
        });
        KernelConfig kernel =
                KernelConfig.distribution().withArch(ArchConfig.x86().withCacheMaintenance(arm64));
        assertThat(kernel.cacheMaintenance()).isSameAs(arm64);
        DirectWorld board = DirectWorld.of(b -> b.kernelConfig(kernel));
        Dma dma = board.device(c -> c.withCoherent(false)).dma();
        for (DmaDirection direction : new DmaDirection[] {TO_DEVICE, FROM_DEVICE, BIDIRECTIONAL}) {
            dma.mapPage(0x5000, 0x40, direction, 0);
            dma.unmapPage(0x5000, 0x40, direction, 0);
            steps.add("-");
        }
        assertThat(steps)
                .containsExactly(
                        "clean 0x5000+0x40",
                        "-",
                        "clean 0x5000+0x40",
                        "invalidate 0x5000+0x40",
                        "-",
                        "clean 0x5000+0x40",
                        "invalidate 0x5000+0x40",
                        "-");
    }
}
