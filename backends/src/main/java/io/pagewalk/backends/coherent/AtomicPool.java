package io.pagewalk.backends.coherent;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Memory of one zone set aside for callers that must not wait. It only grows.
 *
 * <p>Implements dma-core:ATM-2, ATM-4 and ATM-5 for one pool. Thread-safe, by one lock.
 */
final class AtomicPool {
    /** One block of pages. */
    private record Chunk(long physAddr, int pages, BitSet used) {
        boolean contains(long otherPhysAddr, long sizeBytes) {
            return Addresses.contains(physAddr, (long) pages << Addresses.PAGE_SHIFT, otherPhysAddr, sizeBytes);
        }

        /** The lowest free run at a multiple of its alignment, -1 when there is none. */
        int firstFit(int count, int alignPages) {
            int at = 0;
            while (count <= pages - at) {
                int taken = used.nextSetBit(at);
                if (taken < 0 || taken - at >= count) {
                    return at;
                }
                at = (used.nextClearBit(taken) + alignPages - 1) & -alignPages;
            }
            return -1;
        }
    }

    private final int zoneFlag;
    private final List<Chunk> chunks = new ArrayList<>();
    private long pages;
    private long usedPages;

    AtomicPool(int zoneFlag) {
        this.zoneFlag = zoneFlag;
    }

    /** {@code Gfp.DMA}, {@code Gfp.DMA32}, or 0 for the kernel's pool. */
    int zoneFlag() {
        return zoneFlag;
    }

    synchronized void addChunk(long physAddr, int order) {
        chunks.add(new Chunk(physAddr, 1 << order, new BitSet()));
        pages += 1L << order;
    }

    synchronized long sizeBytes() {
        return pages << Addresses.PAGE_SHIFT;
    }

    synchronized long freeBytes() {
        return (pages - usedPages) << Addresses.PAGE_SHIFT;
    }

    /** Takes whole pages, aligned to their order; gives {@link PageAllocator#NO_PAGE} when nothing fits. */
    synchronized long alloc(long roundedBytes) {
        int order = Addresses.order(roundedBytes);
        if (order > PageAllocator.MAX_ORDER) {
            return PageAllocator.NO_PAGE;
        }
        int count = (int) (roundedBytes >>> Addresses.PAGE_SHIFT);
        for (Chunk chunk : chunks) {
            int at = chunk.firstFit(count, 1 << order);
            if (at >= 0) {
                chunk.used().set(at, at + count);
                usedPages += count;
                return chunk.physAddr() + ((long) at << Addresses.PAGE_SHIFT);
            }
        }
        return PageAllocator.NO_PAGE;
    }

    /** Gives pages back; false when they are not the pool's (ATM-5). */
    synchronized boolean free(long physAddr, long roundedBytes) {
        for (Chunk chunk : chunks) {
            if (chunk.contains(physAddr, roundedBytes)) {
                int at = (int) ((physAddr - chunk.physAddr()) >>> Addresses.PAGE_SHIFT);
                int count = (int) (roundedBytes >>> Addresses.PAGE_SHIFT);
                chunk.used().clear(at, at + count);
                usedPages -= count;
                return true;
            }
        }
        return false;
    }
}
