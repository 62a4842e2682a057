package io.pagewalk.dma.pool;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.memory.Addresses;

/** A page of a pool: the coherent memory that its blocks lie in. */
record PoolPage(CoherentBuffer memory, long cpuAddr, long dmaAddr, long sizeBytes) {
    static PoolPage of(CoherentBuffer memory) {
        return new PoolPage(memory, memory.cpuAddr(), memory.dmaAddr(), memory.sizeBytes());
    }

    boolean holds(long blockDmaAddr) {
        return Addresses.lessThan(blockDmaAddr - dmaAddr, sizeBytes);
    }
}
