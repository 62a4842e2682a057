package io.pagewalk.dma;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuCache;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DmaPages;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The half of the DMA API that allocates memory: coherent memory, and pages that come mapped. One for each {@link Dma},
 * which gives it out; a failing call notes its cause in {@link Dma#lastFailure()}. All addresses and sizes are
 * unsigned.
 *
 * <p>Implements dma-core:ATTR-11, FE-50 to FE-57, FE-70 to FE-72, MSK-14, COH-7. Thread-safe.
 *
 * <p>Differs from Linux: a free by address frees what was allocated there, whatever size and DMA address it is told; it
 * is for listeners to compare them. Of a device's own region the size does count (COH-4).
 */
public final class DmaMemory {
    private final Dma dma;
    private final Device device;
    private final int cpu;
    private final DmaOps ops;
    private final Machine machine;
    private final KernelLog log;
    private final @Nullable DmaListener listener;
    private final DmaChecks checks;
    private final NoncontiguousMemory noncontiguous;
    private final ManagedMemory managed;

    DmaMemory(Dma dma, DmaOps ops, DmaChecks checks) {
        this.dma = dma;
        this.device = dma.device();
        this.cpu = dma.cpu();
        this.ops = ops;
        this.machine = device.machine();
        this.log = machine.log();
        this.listener = machine.listener();
        this.checks = checks;
        this.noncontiguous = new NoncontiguousMemory(dma, ops, checks);
        this.managed = new ManagedMemory(this, device);
    }

    int cpu() {
        return cpu;
    }

    /**
     * The calls for memory that lies apart physically and together on the bus.
     *
     * @return always the same
     */
    public NoncontiguousMemory noncontiguous() {
        return noncontiguous;
    }

    /**
     * The {@code dmam_} calls, whose memory is freed when the driver goes.
     *
     * @return always the same
     */
    public ManagedMemory managed() {
        return managed;
    }

    /**
     * {@code dma_alloc_attrs}: memory that CPU and device see alike, zeroed (dma-core:FE-50 to FE-52).
     *
     * @param sizeBytes length in bytes
     * @param gfp bits of {@link Gfp}; those that choose a zone are ignored
     * @param attrs bits of {@link DmaAttrs}, with which it is freed too
     * @return the buffer, or null
     */
    public @Nullable CoherentBuffer allocAttrs(long sizeBytes, int gfp, int attrs) {
        return buffer(allocate(sizeBytes, gfp, attrs), attrs);
    }

    /**
     * {@code dma_alloc_coherent} (dma-core:ATTR-11).
     *
     * @param sizeBytes length in bytes
     * @param gfp bits of {@link Gfp}
     * @return the buffer, which is freed with no attributes, or null
     */
    public @Nullable CoherentBuffer allocCoherent(long sizeBytes, int gfp) {
        return buffer(allocate(sizeBytes, gfp, noWarn(gfp)), DmaAttrs.NONE);
    }

    /**
     * {@code dma_alloc_wc}: coherent memory with writes combined (dma-core:ATTR-11).
     *
     * @param sizeBytes length in bytes
     * @param gfp bits of {@link Gfp}
     * @return the buffer, which is freed with {@link DmaAttrs#WRITE_COMBINE}, or null
     */
    public @Nullable CoherentBuffer allocWc(long sizeBytes, int gfp) {
        return buffer(allocate(sizeBytes, gfp, DmaAttrs.WRITE_COMBINE | noWarn(gfp)), DmaAttrs.WRITE_COMBINE);
    }

    static int noWarn(int gfp) {
        return Gfp.has(gfp, Gfp.NOWARN) ? DmaAttrs.NO_WARN : DmaAttrs.NONE;
    }

    private @Nullable CoherentBuffer buffer(@Nullable CoherentAllocation allocation, int freeAttrs) {
        return allocation == null
                ? null
                : new CoherentBuffer(allocation, live -> free(live, freeAttrs), memoryOf(device));
    }

    /** A device that does not snoop gets memory that the CPU does not cache either. */
    static CpuMemory memoryOf(Device device) {
        CpuMemory memory = device.machine().cpuMemory();
        return device.isCoherent() ? memory : memory.uncached();
    }

    @Nullable CoherentAllocation allocate(long sizeBytes, int gfp, int attrs) {
        if (device.coherentMask() == 0) {
            log.site("dma_alloc_coherent").warnOnce(() -> device.name() + " has a coherent mask of 0 (dma-core:FE-50)");
        }
        if (checks.refusesCompound("dma_alloc_attrs", gfp, attrs, "FE-50")) {
            return null;
        }
        CoherentRegion region = device.coherentRegion();
        CoherentAllocation allocation =
                region == null ? allocateByPath(sizeBytes, gfp, attrs) : allocateFrom(region, sizeBytes);
        if (allocation != null) {
            device.liveAllocations().add(allocation);
            leaveCache(allocation.pages());
        }
        return allocation;
    }

    /** Whatever was cached of pages that are not to be cached any more, such as their zeros, goes to memory. */
    private void leaveCache(CoherentPages pages) {
        CpuCache cache = machine.cpuMemory().cache();
        if (cache == null || device.isCoherent()) {
            return;
        }
        for (int page = 0; page < pages.pageCount(); page++) {
            cache.flush(pages.pagePhysAddr(page), Addresses.PAGE_SIZE);
        }
    }

    /** What the region says is final, and no kernel's listener hears of it (FE-51). */
    private @Nullable CoherentAllocation allocateFrom(CoherentRegion region, long sizeBytes) {
        CoherentPages pages = region.alloc(device, sizeBytes);
        if (pages == null) {
            dma.failureSlot()
                    .record(
                            FailureReason.REGION_FULL,
                            Errno.ENOMEM,
                            sizeBytes,
                            region.sizeBytes(),
                            region.freePages(),
                            0);
            return null;
        }
        if (listener != null) {
            listener.allocatedInRegion(device, cpu, pages.cpuAddr(), pages.dmaAddr(), sizeBytes);
        }
        return CoherentAllocation.ofRegion(pages, region);
    }

    private @Nullable CoherentAllocation allocateByPath(long sizeBytes, int gfp, int attrs) {
        CoherentPages pages = ops.allocCoherent(device, cpu, sizeBytes, Gfp.withoutZones(gfp), attrs);
        CoherentAllocation allocation = pages == null ? null : withCpuAddr(pages, attrs);
        if (allocation != null && listener != null) {
            CoherentPages memory = allocation.pages();
            listener.allocated(device, cpu, memory.cpuAddr(), memory.dmaAddr(), sizeBytes, attrs);
        }
        return allocation;
    }

    /** Memory in one piece has an address in the direct map, pages that lie apart get some in the vmalloc area. */
    private @Nullable CoherentAllocation withCpuAddr(CoherentPages pages, int attrs) {
        if (pages.cpuAddr() != CoherentPages.NO_CPU_ADDR) {
            return CoherentAllocation.ofPath(pages);
        }
        if (pages.isContiguous()) {
            long virtAddr = machine.layout().physToVirt(pages.pagePhysAddr(0));
            return CoherentAllocation.ofPath(pages.withCpuAddr(virtAddr));
        }
        long virtAddr = machine.kernelMemory().vmap(pages.pagePhysAddrs());
        if (virtAddr == 0) {
            ops.freeCoherent(device, cpu, pages, attrs);
            dma.failureSlot()
                    .record(FailureReason.NO_MEMORY, Errno.ENOMEM, pages.sizeBytes(), device.coherentMask(), 0, 0);
            return null;
        }
        return CoherentAllocation.ofVmap(pages.withCpuAddr(virtAddr));
    }

    /**
     * {@code dma_free_attrs}: frees by address (dma-core:FE-53).
     *
     * @param sizeBytes what was allocated
     * @param cpuAddr the CPU's address; 0 does nothing
     * @param dmaAddr the DMA address
     * @param attrs bits of {@link DmaAttrs}
     * @throws IllegalStateException when the device has no coherent memory there; nothing changes then
     */
    public void freeAttrs(long sizeBytes, long cpuAddr, long dmaAddr, int attrs) {
        CoherentAllocation live = device.liveAllocations().at(cpuAddr);
        if (releaseToRegion(live, cpuAddr, sizeBytes)) {
            return;
        }
        warnWithoutInterrupts();
        if (cpuAddr == 0) {
            return;
        }
        if (listener != null) {
            listener.freeing(device, cpu, cpuAddr, dmaAddr, sizeBytes);
        }
        freeByPath(live, cpuAddr, attrs);
    }

    /**
     * {@code dma_free_coherent} (dma-core:ATTR-11).
     *
     * @param sizeBytes what was allocated
     * @param cpuAddr the CPU's address
     * @param dmaAddr the DMA address
     */
    public void freeCoherent(long sizeBytes, long cpuAddr, long dmaAddr) {
        freeAttrs(sizeBytes, cpuAddr, dmaAddr, DmaAttrs.NONE);
    }

    /**
     * {@code dma_free_wc} (dma-core:ATTR-11).
     *
     * @param sizeBytes what was allocated
     * @param cpuAddr the CPU's address
     * @param dmaAddr the DMA address
     */
    public void freeWc(long sizeBytes, long cpuAddr, long dmaAddr) {
        freeAttrs(sizeBytes, cpuAddr, dmaAddr, DmaAttrs.WRITE_COMBINE);
    }

    /** Frees a buffer, which knows its numbers. */
    void free(CoherentAllocation live, int attrs) {
        CoherentPages pages = live.pages();
        if (releaseToRegion(live, pages.cpuAddr(), pages.sizeBytes())) {
            return;
        }
        warnWithoutInterrupts();
        if (listener != null) {
            listener.freeing(device, cpu, pages.cpuAddr(), pages.dmaAddr(), pages.sizeBytes());
        }
        freeByPath(live, pages.cpuAddr(), attrs);
    }

    private boolean releaseToRegion(@Nullable CoherentAllocation live, long cpuAddr, long sizeBytes) {
        CoherentRegion region = device.coherentRegion();
        if (region == null || !region.release(cpuAddr, sizeBytes)) {
            return false;
        }
        if (live != null) {
            device.liveAllocations().remove(live);
            tellFreedInRegion(live.pages());
        }
        return true;
    }

    private void tellFreedInRegion(CoherentPages pages) {
        if (listener != null) {
            listener.freedInRegion(device, cpu, pages.cpuAddr(), pages.dmaAddr(), pages.sizeBytes());
        }
    }

    private void warnWithoutInterrupts() {
        if (machine.interrupts().areDisabled(cpu)) {
            log.warn("dma_free_attrs", device.name() + ": CPU " + cpu + " takes no interrupts (dma-core:FE-53)");
        }
    }

    /** Whether there is memory at an address, of a path or of the region that the device still has. */
    boolean canFree(long cpuAddr) {
        CoherentAllocation live = device.liveAllocations().at(cpuAddr);
        return live != null && (live.region() == null || live.region() == device.coherentRegion());
    }

    private void freeByPath(@Nullable CoherentAllocation live, long cpuAddr, int attrs) {
        if (live == null || live.region() != null) {
            throw new IllegalStateException(device.name() + " has no coherent memory at " + Addresses.hex(cpuAddr)
                    + ": freed twice, never allocated, or its region was released");
        }
        device.liveAllocations().remove(live);
        if (live.isVmapped()) {
            machine.kernelMemory().vunmap(cpuAddr);
        }
        ops.freeCoherent(device, cpu, live.pages(), attrs);
    }

    /**
     * {@code dma_alloc_pages}: contiguous pages, zeroed, mapped for streaming use: the CPU syncs (dma-core:FE-54).
     *
     * @param sizeBytes length in bytes; whole pages are allocated
     * @param direction who moves the bytes; not validated (dma-core:TYP-6)
     * @param gfp bits of {@link Gfp}, without zones and compound pages
     * @return the pages, or null
     */
    public @Nullable DmaPages allocPages(long sizeBytes, DmaDirection direction, int gfp) {
        Objects.requireNonNull(direction, "direction");
        if (checks.refusesPages(gfp)) {
            return null;
        }
        DmaPages pages = ops.allocPages(device, cpu, wholePages(sizeBytes), direction, gfp);
        if (pages != null && listener != null) {
            listener.allocatedPages(device, cpu, pages.physAddr(), sizeBytes, direction, pages.dmaAddr());
        }
        return pages;
    }

    /**
     * {@code dma_free_pages} (dma-core:FE-55).
     *
     * @param sizeBytes what was asked for
     * @param physAddr the first page
     * @param dmaAddr its DMA address
     * @param direction the direction of the allocation
     */
    public void freePages(long sizeBytes, long physAddr, long dmaAddr, DmaDirection direction) {
        Objects.requireNonNull(direction, "direction");
        if (listener != null) {
            listener.freeingPages(device, cpu, physAddr, sizeBytes, direction, dmaAddr);
        }
        ops.freePages(device, cpu, new DmaPages(physAddr, dmaAddr, wholePages(sizeBytes)), direction);
    }

    /** Wraps to 0 within a page of 2^64, which no allocator grants (dma-core:TYP-10). */
    private static long wholePages(long sizeBytes) {
        return Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
    }

    /**
     * {@code dma_alloc_noncoherent}: {@link #allocPages} for callers that want the kernel's address (dma-core:FE-56).
     *
     * @param sizeBytes length in bytes
     * @param direction who moves the bytes
     * @param gfp bits of {@link Gfp}
     * @return the memory, or null
     */
    public @Nullable NoncoherentMemory allocNoncoherent(long sizeBytes, DmaDirection direction, int gfp) {
        DmaPages pages = allocPages(sizeBytes, direction, gfp);
        return pages == null
                ? null
                : new NoncoherentMemory(machine.layout().physToVirt(pages.physAddr()), pages.dmaAddr(), sizeBytes);
    }

    /**
     * {@code dma_free_noncoherent} (dma-core:FE-56).
     *
     * @param sizeBytes what was asked for
     * @param cpuAddr the kernel's address
     * @param dmaAddr the DMA address
     * @param direction the direction of the allocation
     */
    public void freeNoncoherent(long sizeBytes, long cpuAddr, long dmaAddr, DmaDirection direction) {
        freePages(sizeBytes, machine.layout().virtToPhys(cpuAddr), dmaAddr, direction);
    }

    /**
     * {@code dma_get_sgtable_attrs}: describes coherent memory as a list for the CPU (dma-core:FE-70).
     *
     * @param sg an empty table
     * @param buffer the memory
     * @param sizeBytes how much of it
     * @param attrs bits of {@link DmaAttrs}
     * @return 0, or a negated errno such as -ENXIO with the table left empty
     * @throws IllegalArgumentException when the table is not empty
     * @throws IllegalStateException when the memory was freed
     */
    public int getSgTable(SgTable sg, CoherentBuffer buffer, long sizeBytes, int attrs) {
        if (sg.origNents() != 0) {
            throw new IllegalArgumentException("the table has " + sg.origNents() + " entries already");
        }
        return ops.getSgTable(device, sg, buffer.livePages(), sizeBytes, attrs);
    }

    /**
     * {@code dma_mmap_attrs}: shows coherent memory to a process (dma-core:FE-71, COH-7).
     *
     * @param vma which part of it
     * @param buffer the memory
     * @param sizeBytes how much of it
     * @param attrs bits of {@link DmaAttrs}
     * @return the outcome; -ENXIO when the part is not inside, or the path cannot show memory at all
     * @throws IllegalStateException when the memory was freed
     */
    public UserMapping mmap(UserVma vma, CoherentBuffer buffer, long sizeBytes, int attrs) {
        CoherentPages pages = buffer.livePages();
        UserMapping answer = device.allocatesByOwnOps() ? null : mmapOfRegions(vma, pages.cpuAddr(), sizeBytes, attrs);
        return answer != null ? answer : ops.mmap(device, vma, pages, sizeBytes, attrs);
    }

    private @Nullable UserMapping mmapOfRegions(UserVma vma, long cpuAddr, long sizeBytes, int attrs) {
        PageProtection protection = PageProtection.of(device, attrs);
        CoherentRegion region = device.coherentRegion();
        UserMapping answer = region == null ? null : region.mmap(vma, cpuAddr, sizeBytes, protection);
        CoherentRegion global = machine.coherentRegions().global();
        return answer != null || global == null ? answer : global.mmap(vma, cpuAddr, sizeBytes, protection);
    }

    /**
     * {@code dma_mmap_pages}: shows pages of {@link #allocPages} to a process, cached as its other memory
     * (dma-core:FE-57).
     *
     * @param vma which part of them
     * @param sizeBytes what was asked for
     * @param physAddr the first page
     * @return the outcome; -ENXIO when the part is not inside
     */
    public UserMapping mmapPages(UserVma vma, long sizeBytes, long physAddr) {
        long count = wholePages(sizeBytes) >>> Addresses.PAGE_SHIFT;
        return UserMapping.ofContiguous(vma, physAddr & Addresses.PAGE_MASK, count, PageProtection.CACHED);
    }

    /**
     * {@code dma_can_mmap} (dma-core:MSK-14).
     *
     * @return whether {@link #mmap} can succeed
     */
    public boolean canMmap() {
        return ops.canMmap(device);
    }
}
