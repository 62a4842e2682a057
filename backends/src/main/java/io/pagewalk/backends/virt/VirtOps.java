package io.pagewalk.backends.virt;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * virt-dma, as the InfiniBand core does it for devices that are software: a DMA address is the kernel virtual address.
 * No mask matters, nothing is bounced, no streaming mapping fails, and unmap and sync do nothing.
 *
 * <p>Implements rdma:DMA-4 to DMA-6, DMA-18. Thread-safe.
 */
final class VirtOps implements DmaOps {
    private static final long UNLIMITED = -1L;

    private final KernelLayout layout;
    private final PageAllocator pages;
    private final CpuMemory memory;
    private final FailurePoint point;
    private final AtomicLong outstandingPages = new AtomicLong();

    VirtOps(Machine machine) {
        layout = machine.layout();
        pages = machine.pages();
        memory = machine.cpuMemory();
        point = machine.failures().point("virt.pages");
    }

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return layout.physToVirt(physAddr);
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        // Nothing was taken (DMA-4).
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        for (int i = 0; i < nents; i++) {
            sg.setDma(i, layout.physToVirt(sg.physAddr(i)), sg.lengthBytes(i));
        }
        return nents;
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        // Nothing was taken (DMA-4).
    }

    @Override
    public long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return layout.physToVirt(physAddr);
    }

    @Override
    public void unmapResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        // Nothing was taken (DMA-4).
    }

    @Override
    public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        // The software behind the address is a CPU too (DMA-4).
    }

    @Override
    public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        // The software behind the address is a CPU too (DMA-4).
    }

    @Override
    public void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        // The software behind the address is a CPU too (DMA-4).
    }

    @Override
    public void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        // The software behind the address is a CPU too (DMA-4).
    }

    /** Plain pages; the handle is the virtual address (DMA-18). */
    @Override
    public @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        long roundedBytes = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
        long physAddr = point.failsCall()
                ? PageAllocator.NO_PAGE
                : pages.allocPages(Zone.NORMAL, Addresses.order(roundedBytes));
        if (physAddr == PageAllocator.NO_PAGE) {
            device.failure(cpu).record(FailureReason.NO_MEMORY, Errno.ENOMEM, sizeBytes, UNLIMITED, 0, 0);
            return null;
        }
        memory.zero(physAddr, roundedBytes);
        outstandingPages.addAndGet(roundedBytes >>> Addresses.PAGE_SHIFT);
        return CoherentPages.contiguous(layout.physToVirt(physAddr), sizeBytes, physAddr);
    }

    @Override
    public void freeCoherent(Device device, int cpu, CoherentPages coherent, int attrs) {
        long roundedBytes = Addresses.alignUp(coherent.sizeBytes(), Addresses.PAGE_SIZE);
        outstandingPages.addAndGet(-(roundedBytes >>> Addresses.PAGE_SHIFT));
        pages.freePages(coherent.pagePhysAddr(0), Addresses.order(roundedBytes));
    }

    @Override
    public boolean isMaskSupported(Device device, long mask) {
        return true;
    }

    @Override
    public boolean mayNeedSync(Device device) {
        return false;
    }

    @Override
    public long maxMappingSize(Device device) {
        return UNLIMITED;
    }

    @Override
    public long requiredMask(Device device) {
        return UNLIMITED;
    }

    void checkIdle(Consumer<String> violation) {
        long outstanding = outstandingPages.get();
        if (outstanding != 0) {
            violation.accept("coherent allocations of " + outstanding + " pages were not freed");
        }
    }
}
