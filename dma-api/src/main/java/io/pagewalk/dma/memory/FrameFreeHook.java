package io.pagewalk.dma.memory;

/** Wants to know when a page frame goes back to the page allocator. */
@FunctionalInterface
public interface FrameFreeHook {

    /**
     * Tells that a frame is being freed. Nobody else can be given the frame before this returns.
     *
     * @param pfn the number of the frame
     */
    void frameFreed(long pfn);
}
