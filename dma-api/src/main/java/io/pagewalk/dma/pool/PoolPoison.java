package io.pagewalk.dma.pool;

import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.KernelMemory;
import java.util.HexFormat;

/**
 * What a pool checks of its driver under {@code SLUB_DEBUG_ON}: free blocks are filled with one byte, and must still be
 * when they are allocated; frees must name a block that is in use.
 *
 * <p>Implements dma-core:POOL-6.
 */
final class PoolPoison {
    private static final byte FREED = (byte) 0xa7;
    private static final byte ALLOCATED = (byte) 0xa9;
    /** How much of a spoilt block the message shows. */
    private static final int DUMP_BYTES = 64;

    private final DmaPool pool;
    private final KernelMemory memory;
    private final KernelLog log;

    PoolPoison(DmaPool pool, KernelMemory memory, KernelLog log) {
        this.pool = pool;
        this.memory = memory;
        this.log = log;
    }

    void fresh(PoolPage page) {
        memory.fill(page.cpuAddr(), page.sizeBytes(), FREED);
    }

    /** The block is given out all the same. */
    void allocated(PoolBlock block, boolean zeroed) {
        long spoilt = firstSpoilt(block.cpuAddr());
        if (spoilt >= 0) {
            log.message(
                    "dma_pool_alloc: corrupted",
                    named() + "block " + Addresses.hex(block.dmaAddr()) + " was written to at offset " + spoilt
                            + " after it was freed: " + dump(block.cpuAddr()) + " (dma-core:POOL-6)");
        }
        if (!zeroed) {
            memory.fill(block.cpuAddr(), pool.blockBytes(), ALLOCATED);
        }
    }

    /** The offset of the first byte behind the header that is not as it was left, or -1. */
    private long firstSpoilt(long cpuAddr) {
        for (long offset = PoolShape.HEADER_BYTES; offset < pool.blockBytes(); offset++) {
            if (memory.getByte(cpuAddr + offset) != FREED) {
                return offset;
            }
        }
        return -1;
    }

    private String dump(long cpuAddr) {
        byte[] bytes = new byte[(int) Math.min(pool.blockBytes(), DUMP_BYTES)];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = memory.getByte(cpuAddr + i);
        }
        return HexFormat.ofDelimiter(" ").formatHex(bytes);
    }

    /** Fills a block that may be freed; under the pool's lock. */
    boolean refusesFree(long cpuAddr, long dmaAddr) {
        if (pool.pageOf(dmaAddr) == null) {
            log.message("dma_pool_free: bad dma", refusal("no page holds ", cpuAddr, dmaAddr));
            return true;
        }
        if (pool.isFree(cpuAddr)) {
            log.message("dma_pool_free: already free", refusal("free already: ", cpuAddr, dmaAddr));
            return true;
        }
        if (!memory.isAccessible(cpuAddr, pool.blockBytes())) {
            throw new KernelBugException(refusal("no memory at ", cpuAddr, dmaAddr));
        }
        memory.fill(cpuAddr, pool.blockBytes(), FREED);
        return false;
    }

    private String refusal(String what, long cpuAddr, long dmaAddr) {
        return named() + what + "the block at " + Addresses.hex(cpuAddr) + ", DMA " + Addresses.hex(dmaAddr)
                + " (dma-core:POOL-6)";
    }

    private String named() {
        return pool.device().name() + ": pool " + pool.name() + ": ";
    }
}
