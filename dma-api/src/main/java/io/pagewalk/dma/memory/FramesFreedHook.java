package io.pagewalk.dma.memory;

/** Wants to know of all page frames that go back to their allocator. */
@FunctionalInterface
public interface FramesFreedHook {

    /**
     * Tells that neighbouring frames are being freed. Nobody else can be given one of them before this returns.
     *
     * @param firstPfn the number of the first frame
     * @param count how many, from 1
     */
    void framesFreed(long firstPfn, long count);
}
