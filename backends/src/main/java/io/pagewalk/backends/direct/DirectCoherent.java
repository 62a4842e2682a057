package io.pagewalk.backends.direct;

import io.pagewalk.backends.coherent.AtomicPools;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.KernelMemory;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaPages;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Coherent memory without an IOMMU: contiguous pages, which a device that is not coherent gets without caching, and a
 * device that cannot decrypt gets decrypted.
 *
 * <p>Implements dma-core:ALC-1 to ALC-5, ALC-10, ALC-11, ALC-13. Thread-safe.
 */
final class DirectCoherent {
    private static final long NO_PAGE = DirectPages.NO_PAGE;

    private final ArchConfig arch;
    private final DirectReach reach;
    private final DirectPages pages;
    private final Decryption decryption;
    private final @Nullable AtomicPools atomicPools;
    private final CpuMemory memory;
    private final KernelMemory kernelMemory;
    private final KernelLayout layout;
    private final ForeignMemory others;
    private final KernelLog.Site unsupportedSite;
    private final AtomicLong outstandingPages = new AtomicLong();

    DirectCoherent(Machine machine, DirectReach reach) {
        this.arch = machine.kernelConfig().arch();
        this.reach = reach;
        this.pages = new DirectPages(machine, reach);
        this.decryption = new Decryption(machine);
        this.atomicPools = AtomicPools.of(machine);
        this.memory = machine.cpuMemory();
        this.kernelMemory = machine.kernelMemory();
        this.layout = machine.layout();
        this.others = new ForeignMemory(machine);
        this.unsupportedSite = machine.log().site("dma_direct_alloc: not supported");
    }

    @Nullable AtomicPools atomicPools() {
        return atomicPools;
    }

    /** Which memory it is: without a kernel mapping, the architecture's, without caching, or plain (ALC-2 to ALC-5). */
    @Nullable CoherentPages alloc(SwiotlbPool mem, Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        int flags = (attrs & DmaAttrs.NO_WARN) == 0 ? gfp : gfp | Gfp.NOWARN;
        if (hasNoKernelMapping(mem, attrs)) {
            return withoutKernelMapping(mem, device, cpu, sizeBytes, flags);
        }
        if (device.isCoherent()) {
            return mapped(mem, device, cpu, sizeBytes, flags, false);
        }
        if (others.isUsed(mem)) {
            return ofOthers(mem, device, cpu, sizeBytes, flags, attrs);
        }
        if (!arch.setUncached() && !arch.remap()) {
            return notSupported(device, cpu);
        }
        return mapped(mem, device, cpu, sizeBytes, flags, arch.remap());
    }

    private boolean hasNoKernelMapping(SwiotlbPool mem, int attrs) {
        return (attrs & DmaAttrs.NO_KERNEL_MAPPING) != 0 && !decryption.isForced() && !mem.isForAlloc();
    }

    /** Not zeroed, whatever the flags say (ALC-2). */
    private @Nullable CoherentPages withoutKernelMapping(
            SwiotlbPool mem, Device device, int cpu, long sizeBytes, int flags) {
        long physAddr = pages.alloc(mem, device, cpu, rounded(sizeBytes), flags);
        return physAddr == NO_PAGE
                ? noMemory(device, cpu, sizeBytes)
                : taken(device, physAddr, sizeBytes).withCpuAddr(KernelMemory.pageCookie(physAddr));
    }

    private @Nullable CoherentPages ofOthers(
            SwiotlbPool mem, Device device, int cpu, long sizeBytes, int flags, int attrs) {
        CoherentPages taken = others.alloc(mem, device, sizeBytes, flags, attrs);
        return taken == null ? noMemory(device, cpu, sizeBytes) : taken;
    }

    private @Nullable CoherentPages notSupported(Device device, int cpu) {
        if (unsupportedSite.isFirst()) {
            unsupportedSite.message(
                    device.name() + ": coherent DMA allocations not supported on this platform (dma-core:ALC-3)");
        }
        device.failure(cpu).record(FailureReason.NO_UNCACHED_MEMORY, Errno.ENOMEM, 0, 0, 0, 0);
        return null;
    }

    private @Nullable CoherentPages mapped(
            SwiotlbPool mem, Device device, int cpu, long sizeBytes, int flags, boolean remap) {
        long roundedBytes = rounded(sizeBytes);
        boolean mustPrepare = remap || decryption.isForced();
        boolean fromAtomicPool = mustPrepare && mustNotWait(mem, flags);
        long physAddr = fromAtomicPool
                ? fromAtomicPool(device, cpu, roundedBytes, flags)
                : fromPages(mem, device, cpu, roundedBytes, flags, remap);
        if (physAddr == NO_PAGE) {
            return noMemory(device, cpu, sizeBytes);
        }
        CoherentPages taken = taken(device, physAddr, sizeBytes);
        return remap && !fromAtomicPool ? remapped(mem, device, cpu, taken) : taken;
    }

    /** Zeroed, and decrypted unless a second mapping is to do that (ALC-5). */
    private long fromPages(SwiotlbPool mem, Device device, int cpu, long roundedBytes, int flags, boolean remap) {
        long physAddr = pages.alloc(mem, device, cpu, roundedBytes, flags);
        if (physAddr == NO_PAGE || (!remap && !decryption.decrypt())) {
            return NO_PAGE;
        }
        memory.zero(physAddr, roundedBytes);
        return physAddr;
    }

    /** What is remapped was never decrypted, and goes back as it is when there is no room for it. */
    private @Nullable CoherentPages remapped(SwiotlbPool mem, Device device, int cpu, CoherentPages taken) {
        long virtAddr = kernelMemory.vmap(taken.pagePhysAddrs());
        if (virtAddr == 0) {
            freePlain(mem, device, taken);
            return noMemory(device, cpu, taken.sizeBytes());
        }
        return taken.withCpuAddr(virtAddr);
    }

    /** What takes time is not done for callers that must not wait: they get memory prepared before (ALC-4). */
    private static boolean mustNotWait(SwiotlbPool mem, int flags) {
        return !Gfp.has(flags, Gfp.DIRECT_RECLAIM) && !mem.isForAlloc();
    }

    private long fromAtomicPool(Device device, int cpu, long roundedBytes, int flags) {
        return atomicPools == null
                ? NO_PAGE
                : atomicPools.alloc(device, cpu, roundedBytes, flags | pages.zoneFlags(device), reach::isCoherentOk);
    }

    private static @Nullable CoherentPages noMemory(Device device, int cpu, long sizeBytes) {
        device.failure(cpu).record(FailureReason.NO_MEMORY, Errno.ENOMEM, sizeBytes, device.coherentLimit(), 0, 0);
        return null;
    }

    private CoherentPages taken(Device device, long physAddr, long sizeBytes) {
        outstandingPages.addAndGet(pagesOf(sizeBytes));
        return CoherentPages.contiguous(reach.coherentDmaAddr(device, physAddr), sizeBytes, physAddr);
    }

    private static long rounded(long sizeBytes) {
        return Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
    }

    private static long pagesOf(long sizeBytes) {
        return rounded(sizeBytes) >>> Addresses.PAGE_SHIFT;
    }

    /** In the order of ALC-13; the DMA address says which pages they are. */
    void free(SwiotlbPool mem, Device device, CoherentPages coherent, int attrs) {
        if (hasNoKernelMapping(mem, attrs)) {
            freePlain(mem, device, coherent);
            return;
        }
        if (!device.isCoherent() && others.isUsed(mem)) {
            others.free(mem, device, coherent, attrs);
            return;
        }
        long physAddr = firstPage(device, coherent);
        if (atomicPools != null && atomicPools.free(physAddr, rounded(coherent.sizeBytes()))) {
            outstandingPages.addAndGet(-pagesOf(coherent.sizeBytes()));
            return;
        }
        if (layout.isVmalloc(coherent.cpuAddr())) {
            kernelMemory.vunmap(coherent.cpuAddr());
        } else if (!decryption.encrypt(physAddr, rounded(coherent.sizeBytes()))) {
            outstandingPages.addAndGet(-pagesOf(coherent.sizeBytes()));
            return;
        }
        freePlain(mem, device, coherent);
    }

    private static long firstPage(Device device, CoherentPages coherent) {
        return device.dmaToPhys(coherent.dmaAddr()) & Addresses.PAGE_MASK;
    }

    private void freePlain(SwiotlbPool mem, Device device, CoherentPages coherent) {
        pages.free(mem, device, firstPage(device, coherent), rounded(coherent.sizeBytes()));
        outstandingPages.addAndGet(-pagesOf(coherent.sizeBytes()));
    }

    /** {@code dma_direct_alloc_pages} (ALC-11). */
    @Nullable DmaPages allocPages(SwiotlbPool mem, Device device, int cpu, long sizeBytes, int gfp) {
        long physAddr = decryption.isForced() && mustNotWait(mem, gfp)
                ? fromAtomicPool(device, cpu, sizeBytes, gfp)
                : fromPages(mem, device, cpu, sizeBytes, gfp, false);
        if (physAddr == NO_PAGE) {
            noMemory(device, cpu, sizeBytes);
            return null;
        }
        outstandingPages.addAndGet(pagesOf(sizeBytes));
        return new DmaPages(physAddr, reach.coherentDmaAddr(device, physAddr), sizeBytes);
    }

    /** {@code dma_direct_free_pages}: the page itself says which pages they are. */
    void freePages(SwiotlbPool mem, Device device, DmaPages freed) {
        boolean fromAtomicPool = atomicPools != null && atomicPools.free(freed.physAddr(), freed.sizeBytes());
        if (!fromAtomicPool && decryption.encrypt(freed.physAddr(), freed.sizeBytes())) {
            pages.free(mem, device, freed.physAddr(), freed.sizeBytes());
        }
        outstandingPages.addAndGet(-pagesOf(freed.sizeBytes()));
    }

    void checkIdle(Consumer<String> violation) {
        long outstanding = outstandingPages.get();
        if (outstanding != 0) {
            violation.accept("coherent allocations of " + outstanding + " pages were not freed");
        }
        if (atomicPools != null) {
            atomicPools.checkIdle(violation);
        }
    }
}
