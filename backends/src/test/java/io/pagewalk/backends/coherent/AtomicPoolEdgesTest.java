package io.pagewalk.backends.coherent;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.RecordingCache;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Where a pool for callers that must not wait begins and ends. */
class AtomicPoolEdgesTest {
    private static final long GIB = 1L << 30;

    private static MachineBuilder remapping(long ramBytes) {
        return Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, ramBytes)))
                .chunkBytes(1 << 16)
                .commandLine("swiotlb=noforce coherent_pool=128K")
                .kernelConfig(KernelConfig.distribution()
                        .withArch(new RecordingCache().arch().withRemap(true)));
    }

    @Test
    @DisplayName("ATM-3: the DMA flag finds the DMA pool where there is one, and the kernel's where there is none")
    void dmaFlagFindsTheDmaPool() {
        Machine machine = remapping(GIB).build();
        AtomicPools pools = Objects.requireNonNull(AtomicPools.of(machine));
        Device device = machine.addDevice(DeviceConfig.named("dev"));
        assertThat(pools.alloc(device, 0, 0x1000, Gfp.DMA, PhysReach.EVERYTHING))
                .isBetween(0x1000L, 0xff_ffffL);
        assertThat(pools.alloc(device, 0, 0x1000, 0, PhysReach.EVERYTHING)).isGreaterThan(0xff_ffffL);
    }

    @Test
    @DisplayName("ATM-4, TYP-10: no pool has a run above the largest order")
    void largestOrderEndsThePools() {
        AtomicPool pool = new AtomicPool(0);
        pool.addChunk(0x40_0000, 10);
        assertThat(pool.alloc(0x40_1000)).isEqualTo(PageAllocator.NO_PAGE);
        assertThat(pool.alloc(0x40_0000)).isEqualTo(0x40_0000);
        assertThat(pool.freeBytes()).isZero();
    }

    @Test
    @DisplayName("ATM-1, ATM-2: a pool takes what there is, down to one page")
    void poolTakesTheLastPage() {
        Machine machine = remapping(64 << 20)
                .allocatable(List.of(PhysRange.ofSize(0x200_0000, 0x1000)))
                .backend("virt")
                .build();
        AtomicPools pools = Objects.requireNonNull(AtomicPools.of(machine));
        assertThat(pools.sizeBytes(0)).isEqualTo(0x1000);
        assertThat(pools.sizeBytes(Gfp.DMA32)).isZero();
    }
}
