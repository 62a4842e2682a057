package io.pagewalk.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.Metric;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Map;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.lifecycle.BeforeTry;
import net.jqwik.api.statistics.Statistics;

/** Programs with misuse that the kernel does not notice: what the requirements say of it happens, and nothing else. */
class MisuseProperties {
    private static final long POOL = 0x10_0000;
    private static final long BUFFER = 0x80_0000;
    private static final int SLOT = 0x800;
    private static final int SET = 0x4_0000;

    private Machine machine = boot();

    private static Machine boot() {
        return Machine.builder()
                .ram(RamMap.of(PhysRange.ofSize(0, 16 << 20)))
                .chunkBytes(1 << 16)
                .cpus(1)
                .backend("swiotlb")
                .commandLine("swiotlb=128,1,force")
                .backendOptions(BackendOptions.NONE.with("swiotlb.poolBase", POOL))
                .build();
    }

    @BeforeTry
    void boots() {
        machine.close();
        machine = boot();
    }

    private Dma dma(int minAlignMask) {
        return machine.addDevice(DeviceConfig.named("dev").withMinAlignMask(minAlignMask))
                .dma();
    }

    private long usedSlots() {
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        machine.report(metrics::put);
        return metrics.get(Metric.POOL_USED_SLOTS);
    }

    private void fill(long physAddr, int sizeBytes, int value) {
        machine.cpuMemory().fill(physAddr, sizeBytes, (byte) value);
    }

    private void requireBytes(long physAddr, int sizeBytes, int value) {
        byte[] expected = new byte[sizeBytes];
        Arrays.fill(expected, (byte) value);
        assertThat(machine.cpuMemory().mismatch(physAddr, expected, 0, sizeBytes))
                .as("first byte from 0x%x on that is not 0x%x", physAddr, value)
                .isEqualTo(-1);
    }

    /** DIR-15, SWB-3: an unmap frees the whole bounce whatever size it is told, and copies that size, clipped. */
    @Property(edgeCases = EdgeCasesMode.NONE)
    void anUnmapOfAnotherSizeFreesAllAndCopiesWhatItIsTold(
            @ForAll @IntRange(min = 1, max = 0x3000) int mapped,
            @ForAll @IntRange(min = 1, max = 0x4000) int unmapped) {
        Dma dma = dma(0);
        fill(BUFFER, 0x5000, 0x11);
        long dmaAddr = dma.mapPage(BUFFER, mapped, DmaDirection.FROM_DEVICE, 0);
        fill(dmaAddr, mapped, 0x22);
        dma.unmapPage(dmaAddr, unmapped, DmaDirection.FROM_DEVICE, 0);
        int copied = Math.min(mapped, unmapped);
        requireBytes(BUFFER, copied, 0x22);
        requireBytes(BUFFER + copied, 0x5000 - copied, 0x11);
        assertThat(usedSlots()).isZero();
        assertThat(machine.log().warnCount()).isEqualTo(unmapped > mapped ? 1 : 0);
        Statistics.label("too much").collect(unmapped > mapped).coverage(c -> {
            c.check(true).percentage(p -> p > 10);
            c.check(false).percentage(p -> p > 10);
        });
    }

    /** SWR-6: a second release of free slots is not noticed; with low bits in the address one slot is miscounted. */
    @Property(edgeCases = EdgeCasesMode.NONE)
    void aDoubleUnmapMiscountsASlotOnlyWhenTheAddressHasLowBits(
            @ForAll @IntRange(max = 0x7ff) int low, @ForAll @IntRange(min = 1, max = 0x2000) int size) {
        Dma dma = dma(0xfff);
        dma.mapPage(BUFFER, SLOT, DmaDirection.TO_DEVICE, 0);
        long dmaAddr = dma.mapPage(BUFFER + low, size, DmaDirection.TO_DEVICE, 0);
        dma.unmapPage(dmaAddr, size, DmaDirection.TO_DEVICE, 0);
        assertThat(usedSlots()).isEqualTo(1);
        dma.unmapPage(dmaAddr, size, DmaDirection.TO_DEVICE, 0);
        assertThat(usedSlots()).as("after the second unmap, low bits 0x%x", low).isEqualTo(low == 0 ? 1 : 0);
        Statistics.label("low").collect(low == 0).coverage(c -> c.check(false).percentage(p -> p > 50));
    }

    /** SWR-6: if the slots were reused meanwhile, the new owner's buffer is released. */
    @Property(edgeCases = EdgeCasesMode.NONE)
    void aLateSecondUnmapReleasesTheNewOwnersBuffer(@ForAll @IntRange(min = SET - SLOT + 1, max = SET) int size) {
        Dma first = dma(0);
        Dma second = machine.addDevice(DeviceConfig.named("second")).dma();
        long dmaAddr = first.mapPage(BUFFER, size, DmaDirection.TO_DEVICE, 0);
        first.unmapPage(dmaAddr, size, DmaDirection.TO_DEVICE, 0);
        assertThat(second.mapPage(BUFFER, size, DmaDirection.TO_DEVICE, 0)).isEqualTo(dmaAddr);
        first.unmapPage(dmaAddr, size, DmaDirection.TO_DEVICE, 0);
        assertThat(usedSlots()).as("the second device's slots").isZero();
        assertThat(first.mapPage(BUFFER, size, DmaDirection.TO_DEVICE, 0)).isEqualTo(dmaAddr);
    }

    /** SWB-8 to SWB-10: a sync goes by the direction that it is told, not by that of the map. */
    @Property(edgeCases = EdgeCasesMode.NONE)
    void aSyncGoesByItsOwnDirection(@ForAll DmaDirection mapped, @ForAll DmaDirection synced, @ForAll boolean forCpu) {
        if (mapped == DmaDirection.NONE) {
            return;
        }
        Dma dma = dma(0);
        fill(BUFFER, 0x100, 0x11);
        long dmaAddr = dma.mapPage(BUFFER, 0x100, mapped, 0);
        fill(dmaAddr, 0x100, 0x22);
        if (synced == DmaDirection.NONE) {
            assertThatThrownBy(() -> dma.syncSingleForCpu(dmaAddr, 0x100, synced))
                    .isInstanceOf(KernelBugException.class);
            return;
        }
        if (forCpu) {
            dma.syncSingleForCpu(dmaAddr, 0x100, synced);
            requireBytes(BUFFER, 0x100, synced.deviceWrites() ? 0x22 : 0x11);
            requireBytes(dmaAddr, 0x100, 0x22);
        } else {
            dma.syncSingleForDevice(dmaAddr, 0x100, synced);
            requireBytes(BUFFER, 0x100, 0x11);
            requireBytes(dmaAddr, 0x100, synced.deviceReads() ? 0x11 : 0x22);
        }
    }

    /** SWB-7: what lies before the mapping in its first slot counts as bytes before the buffer. */
    @Property(edgeCases = EdgeCasesMode.NONE)
    void aSyncBeforeTheMappingTouchesBytesBeforeTheBuffer(
            @ForAll @IntRange(min = 1, max = 0x7ff) int low, @ForAll @IntRange(min = 1, max = 0x7ff) int before) {
        int distance = Math.min(low, before);
        Dma dma = dma(0xfff);
        fill(BUFFER, 0x2000, 0x11);
        long dmaAddr = dma.mapPage(BUFFER + 0x1000 + low, 0x100, DmaDirection.FROM_DEVICE, 0);
        fill(dmaAddr - distance, distance, 0x22);
        dma.syncSingleForCpu(dmaAddr - distance, distance, DmaDirection.FROM_DEVICE);
        long first = BUFFER + 0x1000 + low - distance;
        requireBytes(first, distance, 0x22);
        requireBytes(BUFFER, (int) (first - BUFFER), 0x11);
        requireBytes(BUFFER + 0x1000 + low, 0x100, 0x11);
    }

    /** DIR-14, SWR-6: a free part of the pool that was mapped one to one goes the way of a double release. */
    @Property(edgeCases = EdgeCasesMode.NONE)
    void unmappingFreePoolMemoryHasNoEffect(@ForAll @IntRange(min = 0, max = SET - 1) int offset) {
        Device device = machine.addDevice(DeviceConfig.named("dev"));
        fill(POOL, SET, 0x33);
        device.dma().unmapPage(POOL + offset, 1, DmaDirection.BIDIRECTIONAL, 0);
        assertThat(usedSlots()).isZero();
        requireBytes(POOL, SET, 0x33);
        assertThat(device.dma().mapPage(BUFFER, SET, DmaDirection.TO_DEVICE, 0)).isEqualTo(POOL);
    }

    /** FE-11, SWM-12: an empty list is a WARN and an error, an empty buffer a BUG. */
    @Property(tries = 1)
    void emptyListsAndBuffersAreNotMapped() {
        Dma dma = dma(0);
        assertThat(dma.mapSgTable(new SgTable(1), DmaDirection.TO_DEVICE, 0)).isEqualTo(-Errno.EIO);
        assertThat(machine.log().warnCount()).isEqualTo(1);
        assertThatThrownBy(() -> dma.mapPage(BUFFER, 0, DmaDirection.TO_DEVICE, 0))
                .isInstanceOf(KernelBugException.class);
        assertThat(usedSlots()).isZero();
    }
}
