package io.pagewalk.rdma.i40iw;

import java.util.Objects;

/**
 * What an adapter of i40iw or irdma has. Immutable; {@link #x722} and {@link #e810} are where to begin, the other
 * methods give a copy that differs in one thing.
 */
public final class I40iwConfig {
    private final Generation generation;
    private final boolean iwarp;
    private final boolean gigabytePages;
    private int maxMr = 16384;
    private long fpmBase = 0x4000_0000L;
    private long maxPbles = 1L << 20;
    private int commandSlots = 128;
    private int maxSge;
    private int maxSgeRd;
    private int maxSglRd;
    private int maxFastRegPages = 1 << 18;
    private boolean idealStatuses;
    private long seed = 1;

    private I40iwConfig(Generation generation, boolean iwarp, boolean gigabytePages, int maxSge, int maxSgeRd) {
        this.generation = Objects.requireNonNull(generation, "generation");
        this.iwarp = iwarp;
        this.gigabytePages = gigabytePages;
        this.maxSge = maxSge;
        this.maxSgeRd = maxSgeRd;
    }

    private I40iwConfig copy() {
        I40iwConfig copy = new I40iwConfig(generation, iwarp, gigabytePages, maxSge, maxSgeRd);
        copy.maxMr = maxMr;
        copy.fpmBase = fpmBase;
        copy.maxPbles = maxPbles;
        copy.commandSlots = commandSlots;
        copy.maxSglRd = maxSglRd;
        copy.maxFastRegPages = maxFastRegPages;
        copy.idealStatuses = idealStatuses;
        copy.seed = seed;
        return copy;
    }

    /**
     * An X722: iWARP, three segments, one of a read.
     *
     * @param generation whose driver it has
     * @return the adapter
     */
    public static I40iwConfig x722(Generation generation) {
        I40iwConfig config = new I40iwConfig(generation, true, false, 3, 1);
        return generation == Generation.I40IW ? config.withFastRegPages(512) : config;
    }

    /**
     * An E810 under irdma: RoCE, thirteen segments, pages of 1 GiB.
     *
     * @return the adapter
     */
    public static I40iwConfig e810() {
        return new I40iwConfig(Generation.IRDMA, false, true, 13, 13);
    }

    /**
     * Changes the number of stags.
     *
     * @param stags that of index 0 included; the table of stags refuses what it cannot have
     * @return a changed copy
     */
    public I40iwConfig withMaxMr(int stags) {
        I40iwConfig copy = copy();
        copy.maxMr = stags;
        return copy;
    }

    /**
     * Changes the page buffer list entries.
     *
     * @param base where they begin in the adapter's own address space
     * @param count how many; their manager refuses what it cannot have
     * @return a changed copy
     */
    public I40iwConfig withPbles(long base, long count) {
        I40iwConfig copy = copy();
        copy.fpmBase = base;
        copy.maxPbles = count;
        return copy;
    }

    /**
     * Changes how many commands it takes at once.
     *
     * @param slots from 1
     * @return a changed copy
     */
    public I40iwConfig withCommandSlots(int slots) {
        I40iwConfig copy = copy();
        copy.commandSlots = atLeast(1, slots, "command slots");
        return copy;
    }

    /**
     * Changes how many segments there may be.
     *
     * @param sge of a work request
     * @param sgeRd of a read
     * @param sglRd from how many on a read had better use a region; 0 for never
     * @return a changed copy
     */
    public I40iwConfig withSegments(int sge, int sgeRd, int sglRd) {
        I40iwConfig copy = copy();
        copy.maxSge = atLeast(1, sge, "segments");
        copy.maxSgeRd = atLeast(1, sgeRd, "segments of a read");
        copy.maxSglRd = atLeast(0, sglRd, "segments from which on a read uses a region");
        return copy;
    }

    /**
     * Changes how many pages of a fast registration it tells of.
     *
     * @param pages from 1
     * @return a changed copy
     */
    public I40iwConfig withFastRegPages(int pages) {
        I40iwConfig copy = copy();
        copy.maxFastRegPages = atLeast(1, pages, "pages of a fast registration");
        return copy;
    }

    /**
     * Has a request that fails on its own side complete with its cause, where the data path of 6.12 says WR_FLUSH_ERR
     * (rdma:DP-10).
     *
     * @return a changed copy
     */
    public I40iwConfig withIdealStatuses() {
        I40iwConfig copy = copy();
        copy.idealStatuses = true;
        return copy;
    }

    /**
     * Changes what stags are drawn from.
     *
     * @param newSeed the seed
     * @return a changed copy
     */
    public I40iwConfig withSeed(long newSeed) {
        I40iwConfig copy = copy();
        copy.seed = newSeed;
        return copy;
    }

    private static int atLeast(int least, int value, String what) {
        if (value < least) {
            throw new IllegalArgumentException("an adapter has " + least + " or more " + what + ", not " + value);
        }
        return value;
    }

    // ---- for the driver and the adapter

    Generation generation() {
        return generation;
    }

    boolean iwarp() {
        return iwarp;
    }

    /** Whether regions of processes may have pages of 1 GiB, as on E8xx (rdma:IRD-6). */
    boolean gigabytePages() {
        return gigabytePages;
    }

    int maxMr() {
        return maxMr;
    }

    long fpmBase() {
        return fpmBase;
    }

    long maxPbles() {
        return maxPbles;
    }

    int commandSlots() {
        return commandSlots;
    }

    int maxSge() {
        return maxSge;
    }

    int maxSgeRd() {
        return maxSgeRd;
    }

    int maxSglRd() {
        return maxSglRd;
    }

    int maxFastRegPages() {
        return maxFastRegPages;
    }

    boolean idealStatuses() {
        return idealStatuses;
    }

    long seed() {
        return seed;
    }
}
