package io.pagewalk.rdma.i40iw;

import java.util.Objects;

/**
 * What an adapter of i40iw or irdma has. Immutable; {@link #x722} and {@link #e810} are where to begin, the other
 * methods change one thing.
 *
 * @param generation whose driver it has
 * @param iwarp whether its port speaks iWARP, else RoCE
 * @param gigabytePages whether regions of processes may have pages of 1 GiB, as on E8xx (rdma:IRD-6)
 * @param maxMr how many stags there are, that of index 0 included
 * @param fpmBase where its page buffer list entries begin in its own address space
 * @param maxPbles how many of them it has
 * @param commandSlots how many commands it takes at once
 * @param maxSge segments of a work request
 * @param maxSgeRd segments of a read
 * @param maxSglRd from how many segments on a read had better use a region; 0 for never
 * @param maxFastRegPages pages of a fast registration, as told
 * @param idealStatuses whether a request that fails on its own side completes with its cause, where the data path of
 *     6.12 says WR_FLUSH_ERR (rdma:DP-10)
 * @param seed from which stags are drawn
 */
public record I40iwConfig(
        Generation generation,
        boolean iwarp,
        boolean gigabytePages,
        int maxMr,
        long fpmBase,
        long maxPbles,
        int commandSlots,
        int maxSge,
        int maxSgeRd,
        int maxSglRd,
        int maxFastRegPages,
        boolean idealStatuses,
        long seed) {
    private static final int STAGS = 16384;
    private static final long FPM_BASE = 0x4000_0000L;
    private static final long PBLES = 1L << 20;
    private static final int SLOTS = 128;

    /** Refuses what no adapter has; stags and page lists have checks of their own. */
    public I40iwConfig {
        Objects.requireNonNull(generation, "generation");
        if (commandSlots < 1 || maxSge < 1 || maxSgeRd < 1 || maxSglRd < 0 || maxFastRegPages < 1) {
            throw new IllegalArgumentException("no adapter has " + commandSlots + " command slots, " + maxSge
                    + " segments, " + maxSgeRd + " of a read, regions from " + maxSglRd + " on, " + maxFastRegPages
                    + " pages of a region");
        }
        if (generation == Generation.I40IW && !iwarp) {
            throw new IllegalArgumentException("i40iw speaks iWARP alone");
        }
    }

    /**
     * An X722: iWARP, three segments, one of a read.
     *
     * @param generation whose driver it has
     * @return the adapter
     */
    public static I40iwConfig x722(Generation generation) {
        int pages = generation == Generation.I40IW ? 512 : 1 << 18;
        return new I40iwConfig(generation, true, false, STAGS, FPM_BASE, PBLES, SLOTS, 3, 1, 0, pages, false, 1);
    }

    /**
     * An E810 under irdma: RoCE, thirteen segments, pages of 1 GiB.
     *
     * @return the adapter
     */
    public static I40iwConfig e810() {
        return new I40iwConfig(
                Generation.IRDMA, false, true, STAGS, FPM_BASE, PBLES, SLOTS, 13, 13, 0, 1 << 18, false, 1);
    }

    /**
     * With another number of stags.
     *
     * @param stags that of index 0 included
     * @return the adapter
     */
    public I40iwConfig withMaxMr(int stags) {
        return new I40iwConfig(
                generation,
                iwarp,
                gigabytePages,
                stags,
                fpmBase,
                maxPbles,
                commandSlots,
                maxSge,
                maxSgeRd,
                maxSglRd,
                maxFastRegPages,
                idealStatuses,
                seed);
    }

    /**
     * With other page buffer list entries.
     *
     * @param base where they begin
     * @param count how many
     * @return the adapter
     */
    public I40iwConfig withPbles(long base, long count) {
        return new I40iwConfig(
                generation,
                iwarp,
                gigabytePages,
                maxMr,
                base,
                count,
                commandSlots,
                maxSge,
                maxSgeRd,
                maxSglRd,
                maxFastRegPages,
                idealStatuses,
                seed);
    }

    /**
     * With another number of commands at once.
     *
     * @param slots from 1
     * @return the adapter
     */
    public I40iwConfig withCommandSlots(int slots) {
        return new I40iwConfig(
                generation,
                iwarp,
                gigabytePages,
                maxMr,
                fpmBase,
                maxPbles,
                slots,
                maxSge,
                maxSgeRd,
                maxSglRd,
                maxFastRegPages,
                idealStatuses,
                seed);
    }

    /**
     * With other segments.
     *
     * @param sge of a work request
     * @param sgeRd of a read
     * @param sglRd from how many on a read had better use a region; 0 for never
     * @return the adapter
     */
    public I40iwConfig withSegments(int sge, int sgeRd, int sglRd) {
        return new I40iwConfig(
                generation,
                iwarp,
                gigabytePages,
                maxMr,
                fpmBase,
                maxPbles,
                commandSlots,
                sge,
                sgeRd,
                sglRd,
                maxFastRegPages,
                idealStatuses,
                seed);
    }

    /**
     * With another number of pages that it tells of fast registrations.
     *
     * @param pages from 1
     * @return the adapter
     */
    public I40iwConfig withFastRegPages(int pages) {
        return new I40iwConfig(
                generation,
                iwarp,
                gigabytePages,
                maxMr,
                fpmBase,
                maxPbles,
                commandSlots,
                maxSge,
                maxSgeRd,
                maxSglRd,
                pages,
                idealStatuses,
                seed);
    }

    /**
     * With the cause in completions.
     *
     * @return the adapter
     */
    public I40iwConfig withIdealStatuses() {
        return new I40iwConfig(
                generation,
                iwarp,
                gigabytePages,
                maxMr,
                fpmBase,
                maxPbles,
                commandSlots,
                maxSge,
                maxSgeRd,
                maxSglRd,
                maxFastRegPages,
                true,
                seed);
    }
}
