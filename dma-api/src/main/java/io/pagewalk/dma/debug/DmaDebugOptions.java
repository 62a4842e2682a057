package io.pagewalk.dma.debug;

import io.pagewalk.dma.memory.VirtRange;
import java.util.List;
import java.util.Objects;

/**
 * How dma-debug works. Immutable; each {@code with} method returns a changed copy. {@link #DEFAULT} is what 6.12 does
 * with {@code DMA_API_DEBUG} and {@code DMA_API_DEBUG_SG}.
 */
public final class DmaDebugOptions {
    /** As many reports as are kept unless {@link #withKeptReports} says otherwise. */
    public static final int DEFAULT_KEPT_REPORTS = 1024;

    private static final int L1_CACHE_SHIFT = 6;

    /** What 6.12 does. */
    public static final DmaDebugOptions DEFAULT = new DmaDebugOptions();

    private DmaDebugProfile profile = DmaDebugProfile.NON_COHERENT_PLATFORM;
    private boolean disabled;
    private long entries = EntryPool.PREALLOCATED;
    private String driver = "";
    private long errorsShown = 1;
    private boolean allErrors;
    private boolean mapErrors = true;
    private boolean segments = true;
    private boolean callSites;
    private int cachelineShift = L1_CACHE_SHIFT;
    private int keptReports = DEFAULT_KEPT_REPORTS;
    private List<VirtRange> kernelImage = List.of();

    private DmaDebugOptions() {}

    private DmaDebugOptions copy() {
        DmaDebugOptions copy = new DmaDebugOptions();
        copy.profile = profile;
        copy.disabled = disabled;
        copy.entries = entries;
        copy.driver = driver;
        copy.errorsShown = errorsShown;
        copy.allErrors = allErrors;
        copy.mapErrors = mapErrors;
        copy.segments = segments;
        copy.callSites = callSites;
        copy.cachelineShift = cachelineShift;
        copy.keptReports = keptReports;
        copy.kernelImage = kernelImage;
        return copy;
    }

    /**
     * Changes which checks are made.
     *
     * @param newProfile the profile
     * @return a changed copy
     */
    public DmaDebugOptions withProfile(DmaDebugProfile newProfile) {
        DmaDebugOptions copy = copy();
        copy.profile = Objects.requireNonNull(newProfile, "newProfile");
        return copy;
    }

    /**
     * Applies a kernel's command line: {@code dma_debug=}, {@code dma_debug_entries=}, {@code dma_debug_driver=}.
     *
     * @param commandLine the line (dma-core:DBG-1, DBG-71, DBG-75)
     * @return a changed copy
     */
    public DmaDebugOptions withCommandLine(String commandLine) {
        DmaDebugOptions copy = copy();
        BootOptions.apply(commandLine, copy);
        return copy;
    }

    void disable() {
        disabled = true;
    }

    void preallocate(long count) {
        entries = count;
    }

    void filter(String name) {
        driver = name;
    }

    /**
     * Changes how many records are allocated at boot (dma-core:DBG-71).
     *
     * @param count not negative; rounded up to whole pages of 32
     * @return a changed copy
     */
    public DmaDebugOptions withEntries(long count) {
        if (count < 0) {
            throw new IllegalArgumentException(count + " entries");
        }
        DmaDebugOptions copy = copy();
        copy.entries = count;
        return copy;
    }

    /**
     * Changes whose reports are shown (dma-core:DBG-8).
     *
     * @param name the name of a driver, or empty for all
     * @return a changed copy
     */
    public DmaDebugOptions withDriver(String name) {
        DmaDebugOptions copy = copy();
        copy.driver = Objects.requireNonNull(name, "name");
        return copy;
    }

    /**
     * Changes how many reports are shown, {@code num_errors} (dma-core:DBG-7).
     *
     * @param count not negative; 1 in the kernel
     * @return a changed copy
     */
    public DmaDebugOptions withErrorsShown(long count) {
        if (count < 0) {
            throw new IllegalArgumentException(count + " errors");
        }
        DmaDebugOptions copy = copy();
        copy.errorsShown = count;
        return copy;
    }

    /**
     * Changes whether all reports are shown, {@code all_errors} (dma-core:DBG-7).
     *
     * @param yes whether they are
     * @return a changed copy
     */
    public DmaDebugOptions withAllErrors(boolean yes) {
        DmaDebugOptions copy = copy();
        copy.allErrors = yes;
        return copy;
    }

    /**
     * Changes whether drivers must ask {@code dma_mapping_error}; off for input that has no such calls
     * (dma-core:DBG-31).
     *
     * @param yes whether that is checked
     * @return a changed copy
     */
    public DmaDebugOptions withMapErrors(boolean yes) {
        DmaDebugOptions copy = copy();
        copy.mapErrors = yes;
        return copy;
    }

    /**
     * Changes whether segments are compared with what the device takes, {@code DMA_API_DEBUG_SG} (dma-core:DBG-25).
     *
     * @param yes whether they are
     * @return a changed copy
     */
    public DmaDebugOptions withSegments(boolean yes) {
        DmaDebugOptions copy = copy();
        copy.segments = yes;
        return copy;
    }

    /**
     * Changes whether live calls are noted with the code that makes them, up to 5 frames (dma-core:DBG-2). Each call
     * walks the stack then.
     *
     * @param yes whether they are
     * @return a changed copy
     */
    public DmaDebugOptions withCallSites(boolean yes) {
        DmaDebugOptions copy = copy();
        copy.callSites = yes;
        return copy;
    }

    /**
     * Changes the length of a cacheline, {@code L1_CACHE_SHIFT} (dma-core:DBG-20).
     *
     * @param shift its binary logarithm, 0 to 12
     * @return a changed copy
     */
    public DmaDebugOptions withCachelineShift(int shift) {
        if (shift < 0 || shift > 12) {
            throw new IllegalArgumentException("a cacheline of 2^" + shift + " bytes");
        }
        DmaDebugOptions copy = copy();
        copy.cachelineShift = shift;
        return copy;
    }

    /**
     * Changes how many reports are kept, the latest ones; counts stay exact.
     *
     * @param count not negative
     * @return a changed copy
     */
    public DmaDebugOptions withKeptReports(int count) {
        if (count < 0) {
            throw new IllegalArgumentException(count + " reports");
        }
        DmaDebugOptions copy = copy();
        copy.keptReports = count;
        return copy;
    }

    /**
     * Sets where text and read-only data of the kernel image are, for kernels whose image lies in the direct map; that
     * of x86-64 does not, and no mapping ever comes from it (dma-core:DBG-17).
     *
     * @param ranges ranges of virtual addresses
     * @return a changed copy
     */
    public DmaDebugOptions withKernelImage(VirtRange... ranges) {
        DmaDebugOptions copy = copy();
        copy.kernelImage = List.of(ranges);
        return copy;
    }

    /**
     * Which checks are made.
     *
     * @return the profile
     */
    public DmaDebugProfile profile() {
        return profile;
    }

    /**
     * Whether dma-debug is off from the start.
     *
     * @return true after {@code dma_debug=off}
     */
    public boolean disabled() {
        return disabled;
    }

    /**
     * How many records are allocated at boot.
     *
     * @return as asked for
     */
    public long entries() {
        return entries;
    }

    /**
     * Whose reports are shown.
     *
     * @return the name of a driver, or empty
     */
    public String driver() {
        return driver;
    }

    /**
     * How many reports are shown.
     *
     * @return at the start
     */
    public long errorsShown() {
        return errorsShown;
    }

    /**
     * Whether all reports are shown.
     *
     * @return at the start
     */
    public boolean allErrors() {
        return allErrors;
    }

    /**
     * Whether drivers must ask {@code dma_mapping_error}.
     *
     * @return whether that is checked
     */
    public boolean mapErrors() {
        return mapErrors;
    }

    /**
     * Whether segments are compared with what the device takes.
     *
     * @return {@code DMA_API_DEBUG_SG}
     */
    public boolean segments() {
        return segments;
    }

    /**
     * Whether live calls are noted with the code that makes them.
     *
     * @return false unless asked for
     */
    public boolean callSites() {
        return callSites;
    }

    /**
     * The length of a cacheline.
     *
     * @return its binary logarithm
     */
    public int cachelineShift() {
        return cachelineShift;
    }

    /**
     * How many reports are kept.
     *
     * @return the latest ones
     */
    public int keptReports() {
        return keptReports;
    }

    /**
     * Where text and read-only data of the kernel image are.
     *
     * @return ranges of virtual addresses, none by default
     */
    public List<VirtRange> kernelImage() {
        return kernelImage;
    }
}
