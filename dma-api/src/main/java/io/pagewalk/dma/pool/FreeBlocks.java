package io.pagewalk.dma.pool;

import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.KernelMemory;

/**
 * The free blocks of a pool, the one freed last first. Its owner's lock guards it.
 *
 * <p>Implements dma-core:POOL-3, POOL-5.
 */
final class FreeBlocks {
    /*
     * The list lies in the blocks themselves, as in the kernel: eight bytes of the next block's CPU address and eight of
     * the block's own DMA address. So a driver that frees a block twice, or writes to one it has freed, spoils the list here
     * as it does there: the same block is given out twice, or the kernel stumbles over an address that is none.
     */
    private static final int DMA_OFFSET = Long.BYTES;
    private static final long NO_BLOCK = 0;

    private final KernelMemory memory;
    private long head = NO_BLOCK;

    FreeBlocks(KernelMemory memory) {
        this.memory = memory;
    }

    boolean isEmpty() {
        return head == NO_BLOCK;
    }

    void pop(PoolBlock block) {
        long cpuAddr = head;
        requireHeader(cpuAddr);
        head = memory.getLong(cpuAddr);
        block.set(cpuAddr, memory.getLong(cpuAddr + DMA_OFFSET));
    }

    void push(long cpuAddr, long dmaAddr) {
        requireHeader(cpuAddr);
        memory.putLong(cpuAddr, head);
        memory.putLong(cpuAddr + DMA_OFFSET, dmaAddr);
        head = cpuAddr;
    }

    /** Puts a new page's blocks before the others, in the order of their addresses. Gives how many there are. */
    int add(PoolPage page, PoolShape shape) {
        long before = head;
        long last = NO_BLOCK;
        int count = 0;
        for (long offset = shape.blockFrom(0); offset >= 0; offset = shape.blockFrom(offset + shape.blockBytes())) {
            long cpuAddr = page.cpuAddr() + offset;
            if (last == NO_BLOCK) {
                head = cpuAddr;
            } else {
                memory.putLong(last, cpuAddr);
            }
            memory.putLong(cpuAddr + DMA_OFFSET, page.dmaAddr() + offset);
            last = cpuAddr;
            count++;
        }
        memory.putLong(last, before);
        return count;
    }

    /** Whether a block is in the list, of which no more than so many blocks can be. */
    boolean contains(long cpuAddr, long limit) {
        long block = head;
        for (long seen = 0; block != NO_BLOCK; seen++) {
            if (block == cpuAddr) {
                return true;
            }
            if (seen == limit) {
                throw new KernelBugException("the free list of a pool of " + limit
                        + " blocks does not end: a freed block was written to (dma-core:POOL-5)");
            }
            requireHeader(block);
            block = memory.getLong(block);
        }
        return false;
    }

    private void requireHeader(long cpuAddr) {
        if (!memory.isAccessible(cpuAddr, PoolShape.HEADER_BYTES)) {
            throw new KernelBugException("no memory for a pool's block at " + Addresses.hex(cpuAddr)
                    + ": freed with a wrong address, or written to after it was freed (dma-core:POOL-5)");
        }
    }
}
