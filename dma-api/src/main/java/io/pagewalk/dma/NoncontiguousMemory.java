package io.pagewalk.dma;

import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaOps;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Memory that may lie apart physically and is together on the bus: {@code dma_alloc_noncontiguous} and its like.
 * Without an IOMMU it lies together on both sides.
 *
 * <p>Implements dma-core:FE-64, FE-65. Thread-safe but for the tables.
 */
public final class NoncontiguousMemory {
    private final Device device;
    private final int cpu;
    private final DmaOps ops;
    private final Machine machine;
    private final @Nullable DmaListener listener;
    private final DmaChecks checks;

    NoncontiguousMemory(Dma dma, DmaOps ops, DmaChecks checks) {
        this.device = dma.device();
        this.cpu = dma.cpu();
        this.ops = ops;
        this.machine = device.machine();
        this.listener = machine.listener();
        this.checks = checks;
    }

    /**
     * {@code dma_alloc_noncontiguous} (dma-core:FE-64).
     *
     * @param sizeBytes length in bytes
     * @param direction who moves the bytes; not validated (dma-core:TYP-6)
     * @param gfp bits of {@link Gfp}, without compound pages
     * @param attrs {@link DmaAttrs#ALLOC_SINGLE_PAGES} or nothing
     * @return the table, whose {@code nents} is 1 and whose first entry has the DMA side of all; or null
     */
    public @Nullable SgTable alloc(long sizeBytes, DmaDirection direction, int gfp, int attrs) {
        Objects.requireNonNull(direction, "direction");
        if (checks.refusesAttrs(gfp, attrs)
                || checks.refusesCompound("dma_alloc_noncontiguous", gfp, attrs, "FE-64")
                || (!ops.isDmaIommu(device) && checks.refusesPages(gfp))) {
            return null;
        }
        SgTable sg = ops.allocNoncontiguous(device, cpu, sizeBytes, direction, gfp, attrs);
        if (sg == null) {
            return null;
        }
        sg.mapped(1);
        if (listener != null) {
            listener.mappedSg(device, cpu, sg, sg.origNents(), direction, attrs, 1);
        }
        return sg;
    }

    /**
     * {@code dma_free_noncontiguous} (dma-core:FE-65).
     *
     * @param sizeBytes what was asked for
     * @param sg the table
     * @param direction the direction of the allocation
     */
    public void free(long sizeBytes, SgTable sg, DmaDirection direction) {
        Objects.requireNonNull(direction, "direction");
        requireEntry(sg);
        if (listener != null) {
            listener.unmappingSg(device, cpu, sg, sg.origNents(), direction);
        }
        ops.freeNoncontiguous(device, cpu, sizeBytes, sg, direction);
    }

    /**
     * {@code dma_vmap_noncontiguous}: the kernel's address of the memory (dma-core:FE-65).
     *
     * @param sizeBytes what was asked for
     * @param sg the table
     * @return of the first byte: in the direct map, or behind an IOMMU in the vmalloc area; 0 when that is full
     */
    public long vmap(long sizeBytes, SgTable sg) {
        requireEntry(sg);
        return ops.isDmaIommu(device)
                ? machine.kernelMemory().vmap(pages(sizeBytes, sg))
                : machine.layout().physToVirt(sg.pageAddr(0));
    }

    /**
     * {@code dma_vunmap_noncontiguous}; does nothing without an IOMMU (dma-core:FE-65).
     *
     * @param cpuAddr what {@link #vmap} returned
     */
    public void vunmap(long cpuAddr) {
        if (ops.isDmaIommu(device)) {
            machine.kernelMemory().vunmap(cpuAddr);
        }
    }

    /**
     * {@code dma_mmap_noncontiguous}: shows the memory to a process (dma-core:FE-65, FE-57).
     *
     * @param vma which part
     * @param sizeBytes what was asked for
     * @param sg the table
     * @return the outcome; -ENXIO when the part is not inside
     */
    public UserMapping mmap(UserVma vma, long sizeBytes, SgTable sg) {
        requireEntry(sg);
        return ops.isDmaIommu(device)
                ? UserMapping.ofPages(vma, pages(sizeBytes, sg), PageProtection.CACHED)
                : UserMapping.ofContiguous(vma, sg.pageAddr(0), pageCount(sizeBytes), PageProtection.CACHED);
    }

    private static long pageCount(long sizeBytes) {
        return Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT;
    }

    /** The pages of the list in order, no more than the size has. */
    private long[] pages(long sizeBytes, SgTable sg) {
        long wanted = Addresses.min(pageCount(sizeBytes), pagesOf(sg));
        long there = machine.ram().sizeBytes() >>> Addresses.PAGE_SHIFT;
        if (Addresses.lessThan(there, wanted)) {
            throw new IllegalArgumentException("the table names " + Long.toUnsignedString(wanted)
                    + " pages of noncontiguous memory, and the machine's RAM has " + there);
        }
        long[] pages = new long[(int) wanted];
        int done = 0;
        for (int i = 0; i < sg.origNents() && done < pages.length; i++) {
            long end = Math.min(pages.length, done + pageCount(sg.lengthBytes(i)));
            for (long physAddr = sg.pageAddr(i); done < end; physAddr += Addresses.PAGE_SIZE) {
                pages[done++] = physAddr;
            }
        }
        return Arrays.copyOf(pages, done);
    }

    private static long pagesOf(SgTable sg) {
        long count = 0;
        for (int i = 0; i < sg.origNents(); i++) {
            count += pageCount(sg.lengthBytes(i));
        }
        return count;
    }

    private static void requireEntry(SgTable sg) {
        DmaChecks.requireEntries(sg, sg.origNents());
        if (sg.origNents() == 0) {
            throw new IllegalArgumentException("an empty table is no noncontiguous memory");
        }
    }
}
