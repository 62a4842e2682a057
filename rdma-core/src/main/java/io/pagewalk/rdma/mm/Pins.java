package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageFrames;
import java.util.Objects;

/**
 * The pins of one machine's user pages: how they are counted on folios, and how they are dropped.
 *
 * <p>A pin of a page of a small folio is 1024 references; a pin of a page of a large folio is one reference and one pin
 * of its head. The zero page's pins are not counted, but by a 5.x kernel. When the last reference goes with a pin, the
 * page goes back to where it came from.
 *
 * <p>Thread-safe. Implements rdma:MM-15 to MM-17 and GUP-18.
 */
public final class Pins {
    /** How many references a pin of a small folio is (rdma:MM-15). */
    public static final int GUP_PIN_COUNTING_BIAS = 1024;

    private final UserMemory memory;
    private final PageFrames frames;
    private final Folios folios;
    private long acquired;
    private long released;

    Pins(UserMemory memory) {
        this.memory = memory;
        frames = memory.machine().frames();
        folios = memory.folios();
    }

    /**
     * How many pages were pinned, ever: NR_FOLL_PIN_ACQUIRED of the machine.
     *
     * @return pages, those included that were dropped again at once
     */
    public long acquired() {
        synchronized (memory.lock()) {
            return acquired;
        }
    }

    /**
     * How many pages were unpinned, ever: NR_FOLL_PIN_RELEASED of the machine.
     *
     * @return pages
     */
    public long released() {
        synchronized (memory.lock()) {
            return released;
        }
    }

    /**
     * Whether a page may be pinned (rdma:MM-16): exact for a page of a large folio, while a small one with 1024
     * references of other kinds looks pinned.
     *
     * @param pfn the number of the page's frame
     * @return true when it may be
     * @throws IllegalArgumentException if there is no such frame
     */
    public boolean maybeDmaPinned(long pfn) {
        synchronized (memory.lock()) {
            int state = folios.state(Folios.requireFrame(pfn));
            return Folios.isLarge(state)
                    ? frames.pinCount(Folios.headOf(pfn, state)) > 0
                    : frames.refCount(pfn) >= GUP_PIN_COUNTING_BIAS;
        }
    }

    /**
     * Unpins physically consecutive pages: {@code unpin_user_page_range_dirty_lock}.
     *
     * @param firstPfn the number of the first page's frame
     * @param nrPages how many pages
     * @param dirty whether to mark their folios dirty
     * @throws IllegalArgumentException if there are no such frames, or their number is negative; nothing changes then
     * @throws IllegalStateException if one of them has no pin; pages before it are unpinned then
     */
    public void unpinUserPageRangeDirtyLock(long firstPfn, long nrPages, boolean dirty) {
        requireRange(firstPfn, nrPages);
        synchronized (memory.lock()) {
            long pfn = firstPfn;
            long endPfn = firstPfn + nrPages;
            while (pfn < endPfn) {
                pfn += unpinRun(pfn, folios.state(pfn), endPfn - pfn, dirty);
            }
        }
    }

    /**
     * Unpins pages: {@code unpin_user_pages_dirty_lock}.
     *
     * @param pfns the numbers of their frames
     * @param count how many of them
     * @param dirty whether to mark their folios dirty
     * @throws IllegalArgumentException if one of them is no frame; nothing changes then
     * @throws IndexOutOfBoundsException if there are not so many; nothing changes then
     * @throws IllegalStateException if one of them has no pin; pages before it are unpinned then
     */
    public void unpinUserPagesDirtyLock(long[] pfns, int count, boolean dirty) {
        Objects.checkFromIndexSize(0, count, pfns.length);
        for (int i = 0; i < count; i++) {
            Folios.requireFrame(pfns[i]);
        }
        unpin(pfns, 0, count, dirty);
    }

    private static void requireRange(long firstPfn, long nrPages) {
        if (nrPages < 0) {
            throw new IllegalArgumentException("cannot unpin " + nrPages + " pages");
        }
        Folios.requireFrame(firstPfn);
        if (nrPages > 0) {
            Folios.requireFrame(firstPfn + nrPages - 1);
        }
    }

    void unpin(long[] pfns, int from, int count, boolean dirty) {
        synchronized (memory.lock()) {
            int end = from + count;
            int i = from;
            while (i < end) {
                int state = folios.state(pfns[i]);
                int run = Folios.isLarge(state) ? runOf(pfns, i, end) : 1;
                i += (int) unpinRun(pfns[i], state, run, dirty);
            }
        }
    }

    /** How many frames from an index on follow each other, up to the size of the largest folio. */
    private static int runOf(long[] pfns, int from, int end) {
        int last = (int) Math.min(end, from + UserPages.HUGE_PAGES);
        int i = from + 1;
        while (i < last && pfns[i] == pfns[i - 1] + 1) {
            i++;
        }
        return i - from;
    }

    /** Unpins the first pages of a run, as many as belong to one folio; says how many. */
    private long unpinRun(long pfn, int state, long nrPages, boolean dirty) {
        if (!Folios.isLarge(state)) {
            unpinSmall(pfn, dirty);
            return 1;
        }
        long head = Folios.headOf(pfn, state);
        long inFolio = Math.min(nrPages, head + (1L << Folios.orderOf(state)) - pfn);
        frames.unpin(head, (int) inFolio);
        markDirty(head, dirty);
        released += inFolio;
        memory.pages().put(head, (int) inFolio);
        return inFolio;
    }

    private void unpinSmall(long pfn, boolean dirty) {
        if (!counts(pfn)) {
            return;
        }
        requirePin(pfn);
        markDirty(pfn, dirty);
        memory.pages().put(pfn, GUP_PIN_COUNTING_BIAS);
        released++;
    }

    /** Before anything is changed. */
    private void requirePin(long pfn) {
        int references = frames.refCount(pfn);
        if (references < GUP_PIN_COUNTING_BIAS) {
            throw new IllegalStateException("page frame " + Addresses.hex(pfn) + " has no pin: its " + references
                    + " references are fewer than the " + GUP_PIN_COUNTING_BIAS + " of one");
        }
    }

    private void markDirty(long headPfn, boolean dirty) {
        if (dirty && !frames.isDirty(headPfn)) {
            frames.setDirty(headPfn);
        }
    }

    /** Pins pages of one folio; false when its count has no room. The caller holds the lock. */
    boolean pin(long pfn, int state, int nrPages) {
        if (!Folios.isLarge(state)) {
            return pinSmall(pfn);
        }
        long head = Folios.headOf(pfn, state);
        if (!frames.tryGet(head, nrPages)) {
            return false;
        }
        frames.pin(head, nrPages);
        acquired += nrPages;
        return true;
    }

    private boolean pinSmall(long pfn) {
        if (!counts(pfn)) {
            return true;
        }
        if (!frames.tryGet(pfn, GUP_PIN_COUNTING_BIAS)) {
            return false;
        }
        acquired++;
        return true;
    }

    private boolean counts(long pfn) {
        return !memory.isZeroPage(pfn) || memory.model().countsPinsOfTheZeroPage();
    }
}
