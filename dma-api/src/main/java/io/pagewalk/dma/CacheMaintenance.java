package io.pagewalk.dma;

import io.pagewalk.dma.memory.CpuMemory;

/**
 * What an architecture does to its caches for devices that do not snoop them: the hooks
 * {@code arch_sync_dma_for_device}, {@code arch_sync_dma_for_cpu}, {@code arch_sync_dma_for_cpu_all} and
 * {@code arch_dma_mark_clean}. A kernel without hooks has coherent devices only (dma-core:DEV-7).
 *
 * <p>The mapping code calls them in the order of dma-core:DIR-10, DIR-14, DIR-20 to DIR-22 and SWM-10, on the calling
 * thread. Addresses are physical, and may be those of a bounce buffer; they and sizes are unsigned. An implementation
 * must bear calls of several threads, and allocate nothing if maps are not to.
 */
public interface CacheMaintenance {
    /** What cache hardware is told: the two things that can be done to its lines. */
    interface Lines {
        /**
         * Writes back the lines of a range, and keeps them.
         *
         * @param physAddr first byte
         * @param sizeBytes length
         */
        void clean(long physAddr, long sizeBytes);

        /**
         * Drops the lines of a range, written back or not.
         *
         * @param physAddr first byte
         * @param sizeBytes length
         */
        void invalidate(long physAddr, long sizeBytes);
    }

    /**
     * A buffer goes to the device.
     *
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction who moves the bytes
     */
    void syncForDevice(long physAddr, long sizeBytes, DmaDirection direction);

    /**
     * A buffer comes back to the CPU.
     *
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction who moves the bytes
     */
    void syncForCpu(long physAddr, long sizeBytes, DmaDirection direction);

    /** All buffers of the call have come back, with {@link #syncForCpu} told of each. */
    default void syncForCpuAll() {}

    /**
     * The pages of a buffer were written by a device alone, and are clean for the CPU's caches. Called for coherent
     * devices too (dma-core:DIR-20).
     *
     * @param physAddr first byte
     * @param sizeBytes length
     */
    default void markClean(long physAddr, long sizeBytes) {}

    /**
     * Binds the hooks to the memory of a machine that is being made.
     *
     * @param memory the CPUs' view of its memory
     * @return the hooks that the machine calls; these, unless they work on whatever cache a machine has
     */
    default CacheMaintenance on(CpuMemory memory) {
        return this;
    }

    /**
     * The behaviour of arm64 on the machine's own cache ({@link MachineBuilder#cpuCache}); nothing to do on a machine
     * without one. Edges of a buffer that share a line with others are written back before they are dropped.
     *
     * @return the hooks, for any number of machines
     */
    static CacheMaintenance arm64() {
        return new MachineCacheMaintenance();
    }

    /**
     * The behaviour of arm64: for the device lines are always cleaned, for the CPU they are invalidated unless the
     * device only read (dma-core:DIR-23).
     *
     * @param lines told of each step
     * @return the hooks
     */
    static CacheMaintenance arm64(Lines lines) {
        return new CacheMaintenance() {
            @Override
            public void syncForDevice(long physAddr, long sizeBytes, DmaDirection direction) {
                lines.clean(physAddr, sizeBytes);
            }

            @Override
            public void syncForCpu(long physAddr, long sizeBytes, DmaDirection direction) {
                if (direction != DmaDirection.TO_DEVICE) {
                    lines.invalidate(physAddr, sizeBytes);
                }
            }
        };
    }
}
