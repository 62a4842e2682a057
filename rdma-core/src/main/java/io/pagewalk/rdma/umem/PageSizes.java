package io.pagewalk.rdma.umem;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * The largest page size with which a device can show a list of segments at a virtual address,
 * {@code ib_umem_find_best_pgsz}. Implements rdma:PGSZ-3 to PGSZ-8. Allocates nothing.
 */
public final class PageSizes {
    /*
     * A device's page table maps blocks of one size, of which the last bits of the virtual address and of the DMA address
     * must be the same. So two things bound the size: every bit in which a segment's address differs from the virtual
     * address it is to appear at, and the virtual address of every place where the segments break off, since a block
     * cannot hold two runs. The lowest such bit is the largest size allowed. A size from the length on upwards is no use
     * beyond the first one that holds everything, which is allowed although virtual and DMA address need not be
     * multiples of it: the device adds the offset.
     */

    /** What ends a block (rdma:PGSZ-5, PGSZ-8). */
    public enum Rule {
        /** Where the memory breaks off: Linux 6.12. */
        WHERE_MEMORY_BREAKS,
        /** Where a segment ends, even if the next one continues it: kernels of the 5.x series. */
        WHERE_SEGMENTS_END
    }

    private PageSizes() {}

    /**
     * Finds the largest page size.
     *
     * @param sg the segments, mapped; {@link SgTable#nents()} of them count
     * @param userAddr address of the memory in its process, of which the offset in the page counts
     * @param lengthBytes length, unsigned
     * @param pageSizes the sizes that the device has, each a bit
     * @param virtAddr where the memory shall appear to the device
     * @param rule what ends a block
     * @return the size, or 0 when none will do
     */
    public static long findBest(SgTable sg, long userAddr, long lengthBytes, long pageSizes, long virtAddr, Rule rule) {
        boolean breaks = rule == Rule.WHERE_MEMORY_BREAKS;
        if (breaks && Addresses.lessThan(virtAddr + (lengthBytes - 1), virtAddr)) {
            return 0;
        }
        long limits = sizesThatHoldAll(pageSizes, virtAddr, lengthBytes);
        limits |= breaks ? limitsOfBreaks(sg, userAddr, virtAddr) : limitsOfSegments(sg, userAddr, virtAddr);
        return Long.highestOneBit(upToLowestOf(limits, pageSizes));
    }

    /** The sizes one block of which holds the whole range (PGSZ-4). */
    private static long sizesThatHoldAll(long pageSizes, long virtAddr, long lengthBytes) {
        long differing = virtAddr ^ Addresses.last(virtAddr, lengthBytes);
        int bits = Math.max(1, Long.SIZE - Long.numberOfLeadingZeros(differing));
        return bits == Long.SIZE ? 0 : pageSizes & (-1L << bits);
    }

    /** Bits that a block cannot exceed, by runs of memory (PGSZ-5, PGSZ-6). */
    private static long limitsOfBreaks(SgTable sg, long userAddr, long virtAddr) {
        long limits = 0;
        long va = virtAddr;
        long inPage = Addresses.PAGE_SIZE - 1 & userAddr;
        long runBase = 0;
        long runBytes = 0;
        for (int i = 0; i < sg.nents(); i++) {
            long dmaAddr = sg.dmaAddr(i);
            long segmentBytes = sg.dmaLengthBytes(i);
            if (i == 0 || !continues(runBase, runBytes, dmaAddr)) {
                runBase = dmaAddr;
                runBytes = 0;
                limits |= (dmaAddr + inPage) ^ va;
                limits |= i == 0 ? 0 : va;
            }
            runBytes += segmentBytes;
            va += segmentBytes - inPage;
            inPage = 0;
        }
        return limits;
    }

    /** Whether a segment goes on where a run ends, with no wrap between them. */
    private static boolean continues(long runBase, long runBytes, long dmaAddr) {
        long end = runBase + runBytes;
        return end == dmaAddr && Addresses.lessOrEqual(runBase, end);
    }

    /** Bits that a block cannot exceed, by segments (PGSZ-8). */
    private static long limitsOfSegments(SgTable sg, long userAddr, long virtAddr) {
        long limits = 0;
        long va = virtAddr;
        long inPage = Addresses.PAGE_SIZE - 1 & userAddr;
        for (int i = 0; i < sg.nents(); i++) {
            limits |= (sg.dmaAddr(i) + inPage) ^ va;
            va += sg.dmaLengthBytes(i) - inPage;
            limits |= i == sg.nents() - 1 ? 0 : va;
            inPage = 0;
        }
        return limits;
    }

    /** Drops the sizes above the lowest limit (PGSZ-7). */
    private static long upToLowestOf(long limits, long pageSizes) {
        if (limits == 0) {
            return pageSizes;
        }
        long lowest = Long.lowestOneBit(limits);
        return pageSizes & (lowest | (lowest - 1));
    }
}
