package io.pagewalk.dma.debug;

/** Which checks are made. */
public enum DmaDebugProfile {
    /**
     * Where every device snoops the caches: as 6.12, but that mappings may share a cacheline, as later kernels have it.
     */
    COHERENT_PLATFORM(false, false),
    /** Exactly what 6.12 checks, wherever it runs: mappings must not share a cacheline. The default. */
    NON_COHERENT_PLATFORM(true, false),
    /**
     * What 6.12 checks, and what no kernel's dma-debug does: pages freed while mapped, and the CPU touching a cacheline
     * that a device may write. What is found beyond the kernel counts in none of its numbers.
     */
    EVERYTHING(true, true);

    private final boolean sharedLines;
    private final boolean extras;

    DmaDebugProfile(boolean sharedLines, boolean extras) {
        this.sharedLines = sharedLines;
        this.extras = extras;
    }

    boolean checksSharedLines() {
        return sharedLines;
    }

    boolean checksExtras() {
        return extras;
    }
}
