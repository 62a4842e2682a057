package io.pagewalk.kit.toy;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;

/** A run of bytes, each mapped to a run of physical pages so that offsets inside a page stay. */
final class Range {
    final long dmaAddr;
    final long sizeBytes;
    final DmaDirection direction;
    private final long[] pagePhysAddrs;

    Range(long dmaAddr, long[] pagePhysAddrs, long sizeBytes, DmaDirection direction) {
        this.dmaAddr = dmaAddr;
        this.sizeBytes = sizeBytes;
        this.direction = direction;
        this.pagePhysAddrs = pagePhysAddrs.clone();
    }

    long lastPageEnd() {
        return Addresses.alignUp(dmaAddr + sizeBytes, Addresses.PAGE_SIZE);
    }

    boolean holds(long address) {
        return Addresses.lessThan(address - dmaAddr, sizeBytes);
    }

    long physAddr(long address) {
        long fromFirstPage = address - Addresses.alignDown(dmaAddr, Addresses.PAGE_SIZE);
        return pagePhysAddrs[(int) (fromFirstPage >>> Addresses.PAGE_SHIFT)] + (address & (Addresses.PAGE_SIZE - 1));
    }
}
