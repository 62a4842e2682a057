package io.pagewalk.dma.debug;

import io.pagewalk.dma.memory.Addresses;
import java.util.List;

/**
 * The stack of a task: in the direct map, or in the vmalloc area with pages of its own (dma-core:DBG-16).
 *
 * @param virtAddr its lowest address
 * @param sizeBytes its length
 * @param pagePhysAddrs its pages in order; empty for a stack in the direct map
 */
public record KernelStack(long virtAddr, long sizeBytes, List<Long> pagePhysAddrs) {
    /**
     * Copies the pages.
     *
     * @param virtAddr its lowest address
     * @param sizeBytes its length
     * @param pagePhysAddrs its pages in order; empty for a stack in the direct map
     */
    public KernelStack {
        pagePhysAddrs = List.copyOf(pagePhysAddrs);
    }

    /**
     * A stack in the direct map.
     *
     * @param virtAddr its lowest address
     * @param sizeBytes its length
     * @return the stack
     */
    public static KernelStack linear(long virtAddr, long sizeBytes) {
        return new KernelStack(virtAddr, sizeBytes, List.of());
    }

    /**
     * A stack in the vmalloc area ({@code VMAP_STACK}).
     *
     * @param virtAddr its lowest address
     * @param pagePhysAddrs its pages in order
     * @return the stack
     */
    public static KernelStack vmapped(long virtAddr, List<Long> pagePhysAddrs) {
        return new KernelStack(virtAddr, pagePhysAddrs.size() * Addresses.PAGE_SIZE, pagePhysAddrs);
    }

    boolean isVmapped() {
        return !pagePhysAddrs.isEmpty();
    }
}
