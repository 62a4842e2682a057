package io.pagewalk.dma.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What the kernel keeps about each page frame: a count of references, a count of pins, whether it is dirty, and who
 * wants to know when it is freed. Sparse: only frames that something was said about cost memory, 512 at a time.
 *
 * <p>A frame starts with no references and no pins; the page allocator changes neither, but refuses to take back a
 * frame that has any. References and pins are separate counts here: an owner that expresses a pin as so many references
 * (rdma:MM-15) adds both.
 *
 * <p>Thread-safe; each change is atomic. Nothing allocates but the first change to one of 512 frames, and hooks.
 */
public final class PageFrames {

    private static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class);

    private static final int GROUP_SHIFT = 9;
    private static final int GROUP_FRAMES = 1 << GROUP_SHIFT;
    private static final int LEAF_SHIFT = 9;
    private static final int LEAF_GROUPS = 1 << LEAF_SHIFT;

    /** Frame numbers are below this: addresses of 52 bits, the most that x86 has. */
    private static final long END_OF_FRAMES = 1L << (52 - Addresses.PAGE_SHIFT);

    /**
     * The state of 512 neighbouring frames. All fields are final, so a racing reader sees it complete or not at all.
     */
    private static final class Group {
        final int[] references = new int[GROUP_FRAMES];
        final int[] pins = new int[GROUP_FRAMES];
        final int[] dirtyBits = new int[GROUP_FRAMES / Integer.SIZE];
    }

    /**
     * Leaves of groups. Elements are written under the lock alone; a racing reader may miss one and then takes the
     * lock.
     */
    private static final class Directory {
        final @Nullable Group[][] leaves;

        Directory(@Nullable Group[][] leaves) {
            this.leaves = leaves;
        }
    }

    private final ConcurrentHashMap<Long, List<FrameFreeHook>> hooks = new ConcurrentHashMap<>();
    private final Object growth = new Object();

    /** Replaced under the lock alone. */
    private volatile List<FramesFreedHook> everyFree = List.of();

    /** Grows with the highest frame touched. */
    private volatile Directory directory = new Directory(new Group[0][]);

    /** Makes frames that all have no references, no pins, and are clean. */
    public PageFrames() {}

    // ---- references

    /**
     * Gives a frame's references.
     *
     * @param pfn the number of the frame
     * @return how many there are
     */
    public int refCount(long pfn) {
        Group group = find(pfn);
        return group == null ? 0 : (int) INTS.getVolatile(group.references, slotOf(pfn));
    }

    /**
     * Takes a reference.
     *
     * @param pfn the number of the frame
     * @return how many there are now
     * @throws IllegalStateException if the count would pass 2^31-1; it stays as it was
     */
    public int get(long pfn) {
        return get(pfn, 1);
    }

    /**
     * Takes several references.
     *
     * @param pfn the number of the frame
     * @param count how many, not negative
     * @return how many there are now
     * @throws IllegalStateException if the count would pass 2^31-1; it stays as it was
     */
    public int get(long pfn, int count) {
        return change(touch(pfn).references, pfn, notNegative(count), "references");
    }

    /**
     * Takes several references, if there is room for them.
     *
     * @param pfn the number of the frame
     * @param count how many, not negative
     * @return false if the count would pass 2^31-1; it stays as it was
     */
    public boolean tryGet(long pfn, int count) {
        int[] references = touch(pfn).references;
        int slot = slotOf(pfn);
        int most = Integer.MAX_VALUE - notNegative(count);
        while (true) {
            int before = (int) INTS.getVolatile(references, slot);
            if (before > most) {
                return false;
            }
            if (INTS.compareAndSet(references, slot, before, before + count)) {
                return true;
            }
        }
    }

    /**
     * Drops a reference. The last one does not free the frame: its owner does.
     *
     * @param pfn the number of the frame
     * @return how many there are now
     * @throws IllegalStateException if there was none
     */
    public int put(long pfn) {
        return put(pfn, 1);
    }

    /**
     * Drops several references. The last one does not free the frame: its owner does.
     *
     * @param pfn the number of the frame
     * @param count how many, not negative
     * @return how many there are now
     * @throws IllegalStateException if there were fewer; the count stays as it was
     */
    public int put(long pfn, int count) {
        return change(touch(pfn).references, pfn, -notNegative(count), "references");
    }

    // ---- pins

    /**
     * Gives a frame's pins.
     *
     * @param pfn the number of the frame
     * @return how many there are
     */
    public int pinCount(long pfn) {
        Group group = find(pfn);
        return group == null ? 0 : (int) INTS.getVolatile(group.pins, slotOf(pfn));
    }

    /**
     * Counts a pin.
     *
     * @param pfn the number of the frame
     * @return how many there are now
     * @throws IllegalStateException if the count would pass 2^31-1; it stays as it was
     */
    public int pin(long pfn) {
        return pin(pfn, 1);
    }

    /**
     * Counts several pins.
     *
     * @param pfn the number of the frame
     * @param count how many, not negative
     * @return how many there are now
     * @throws IllegalStateException if the count would pass 2^31-1; it stays as it was
     */
    public int pin(long pfn, int count) {
        return change(touch(pfn).pins, pfn, notNegative(count), "pins");
    }

    /**
     * Takes back a pin.
     *
     * @param pfn the number of the frame
     * @return how many there are now
     * @throws IllegalStateException if there was none
     */
    public int unpin(long pfn) {
        return unpin(pfn, 1);
    }

    /**
     * Takes back several pins.
     *
     * @param pfn the number of the frame
     * @param count how many, not negative
     * @return how many there are now
     * @throws IllegalStateException if there were fewer; the count stays as it was
     */
    public int unpin(long pfn, int count) {
        return change(touch(pfn).pins, pfn, -notNegative(count), "pins");
    }

    // ---- dirty

    /**
     * Says whether a frame was marked dirty.
     *
     * @param pfn the number of the frame
     * @return true if it was, and not cleaned since
     */
    public boolean isDirty(long pfn) {
        Group group = find(pfn);
        return group != null && ((int) INTS.getVolatile(group.dirtyBits, dirtyWordOf(pfn)) & dirtyBitOf(pfn)) != 0;
    }

    /**
     * Marks a frame dirty.
     *
     * @param pfn the number of the frame
     * @return true if it was clean before
     */
    public boolean setDirty(long pfn) {
        int before = (int) INTS.getAndBitwiseOr(touch(pfn).dirtyBits, dirtyWordOf(pfn), dirtyBitOf(pfn));
        return (before & dirtyBitOf(pfn)) == 0;
    }

    /**
     * Marks a frame clean.
     *
     * @param pfn the number of the frame
     * @return true if it was dirty before
     */
    public boolean clearDirty(long pfn) {
        Group group = find(pfn);
        if (group == null) {
            return false;
        }
        int before = (int) INTS.getAndBitwiseAnd(group.dirtyBits, dirtyWordOf(pfn), ~dirtyBitOf(pfn));
        return (before & dirtyBitOf(pfn)) != 0;
    }

    // ---- freeing

    /**
     * Gives the zone of a frame.
     *
     * @param pfn the number of the frame
     * @return the zone that its address lies in
     */
    public Zone zone(long pfn) {
        return Zone.of(pfn << Addresses.PAGE_SHIFT);
    }

    /**
     * Asks to be told when a frame goes back to the page allocator. A frame may have several hooks, which are called in
     * the order they came, once: they are gone when the frame is.
     *
     * @param pfn the number of the frame
     * @param hook what to call
     */
    public void onFree(long pfn, FrameFreeHook hook) {
        requireFrame(pfn);
        hooks.merge(pfn, List.of(hook), PageFrames::joined);
    }

    /**
     * Takes back what {@link #onFree} asked for.
     *
     * @param pfn the number of the frame
     * @param hook the hook given then
     * @return true if the hook was there
     */
    public boolean cancelOnFree(long pfn, FrameFreeHook hook) {
        Objects.requireNonNull(hook, "hook");
        List<FrameFreeHook> before = hooks.get(pfn);
        hooks.computeIfPresent(pfn, (key, present) -> without(present, hook));
        return before != null && before.contains(hook);
    }

    /**
     * Asks to be told of all frames that go back to the page allocator, or to another owner by {@link #release}, each
     * time, after the hooks of single frames.
     *
     * @param hook what to call from now on
     */
    public void onEveryFree(FramesFreedHook hook) {
        Objects.requireNonNull(hook, "hook");
        synchronized (growth) {
            List<FramesFreedHook> all = new ArrayList<>(everyFree);
            all.add(hook);
            everyFree = List.copyOf(all);
        }
    }

    /**
     * Tells the hooks of frames that they go back to an owner other than the page allocator, such as a contiguous
     * memory area, and cleans them. The owner must not hand them out before this returns. Its time goes with the frames
     * that something was said about, not with {@code count}.
     *
     * @param firstPfn the number of the first frame
     * @param count how many frames, unsigned
     * @throws IllegalArgumentException if there are no such frames; nothing changes then
     * @throws IllegalStateException if one of them has references or pins; nothing changes then
     */
    public void release(long firstPfn, long count) {
        requireFrames(firstPfn, count);
        requireUnused(firstPfn, count);
        freed(firstPfn, count);
    }

    /** Refuses frames that somebody still holds. */
    void requireUnused(long firstPfn, long count) {
        for (long pfn = firstPfn; pfn < firstPfn + count; pfn++) {
            Group group = find(pfn);
            if (group == null) {
                pfn = lastOfUnknown(pfn);
                continue;
            }
            int references = (int) INTS.getVolatile(group.references, slotOf(pfn));
            int pins = (int) INTS.getVolatile(group.pins, slotOf(pfn));
            if (references != 0 || pins != 0) {
                throw new IllegalStateException("page frame " + Addresses.hex(pfn) + " is freed with " + references
                        + " references and " + pins + " pins");
            }
        }
    }

    /** Cleans frames that are being freed, and runs their hooks. */
    void freed(long firstPfn, long count) {
        for (long pfn = firstPfn; pfn < firstPfn + count; pfn++) {
            if (find(pfn) == null) {
                pfn = lastOfUnknown(pfn);
            } else {
                clearDirty(pfn);
            }
        }
        if (!hooks.isEmpty()) {
            callHooks(firstPfn, firstPfn + count);
        }
        if (count != 0) {
            List<FramesFreedHook> told = everyFree;
            for (int i = 0; i < told.size(); i++) {
                told.get(i).framesFreed(firstPfn, count);
            }
        }
    }

    /** Goes through the frames or through the hooks, whichever are fewer. */
    private void callHooks(long firstPfn, long endPfn) {
        if (hooks.size() < endPfn - firstPfn) {
            hooks.keySet().stream()
                    .filter(pfn -> pfn >= firstPfn && pfn < endPfn)
                    .sorted()
                    .forEach(this::callHooks);
            return;
        }
        for (long pfn = firstPfn; pfn < endPfn; pfn++) {
            callHooks(pfn);
        }
    }

    private void callHooks(long pfn) {
        List<FrameFreeHook> due = hooks.remove(pfn);
        if (due != null) {
            callAll(due, pfn);
        }
    }

    private static void callAll(List<FrameFreeHook> due, long pfn) {
        for (FrameFreeHook hook : due) {
            hook.frameFreed(pfn);
        }
    }

    private static List<FrameFreeHook> joined(List<FrameFreeHook> first, List<FrameFreeHook> second) {
        FrameFreeHook[] all = Arrays.copyOf(first.toArray(new FrameFreeHook[0]), first.size() + second.size());
        for (int i = 0; i < second.size(); i++) {
            all[first.size() + i] = second.get(i);
        }
        return List.of(all);
    }

    private static @Nullable List<FrameFreeHook> without(List<FrameFreeHook> present, FrameFreeHook hook) {
        int index = present.indexOf(hook);
        if (index < 0) {
            return present;
        }
        List<FrameFreeHook> rest = new ArrayList<>(present);
        rest.remove(index);
        return rest.isEmpty() ? null : List.copyOf(rest);
    }

    // ---- counters

    private static int change(int[] counters, long pfn, int delta, String what) {
        int slot = slotOf(pfn);
        while (true) {
            int before = (int) INTS.getVolatile(counters, slot);
            int after = before + delta;
            if (after < 0) {
                throw new IllegalStateException("page frame " + Addresses.hex(pfn) + " has " + before + " " + what
                        + ", which cannot change by " + delta);
            }
            if (INTS.compareAndSet(counters, slot, before, after)) {
                return after;
            }
        }
    }

    private static int notNegative(int count) {
        if (count < 0) {
            throw new IllegalArgumentException("a count of references or pins is not negative: " + count);
        }
        return count;
    }

    // ---- finding the group

    private @Nullable Group find(long pfn) {
        requireFrame(pfn);
        @Nullable Group[][] leaves = directory.leaves;
        int leafIndex = leafIndexOf(pfn);
        if (leafIndex >= leaves.length || leaves[leafIndex] == null) {
            return null;
        }
        return leaves[leafIndex][groupIndexOf(pfn)];
    }

    private Group touch(long pfn) {
        Group found = find(pfn);
        return found != null ? found : create(pfn);
    }

    private Group create(long pfn) {
        synchronized (growth) {
            Group raced = find(pfn);
            if (raced != null) {
                return raced;
            }
            Group group = new Group();
            leafFor(leafIndexOf(pfn))[groupIndexOf(pfn)] = group;
            return group;
        }
    }

    private @Nullable Group[] leafFor(int leafIndex) {
        @Nullable Group[][] leaves = directory.leaves;
        if (leafIndex >= leaves.length) {
            leaves = Arrays.copyOf(leaves, Math.max(leafIndex + 1, leaves.length * 2));
            directory = new Directory(leaves);
        }
        if (leaves[leafIndex] == null) {
            leaves[leafIndex] = new Group[LEAF_GROUPS];
        }
        return leaves[leafIndex];
    }

    private static void requireFrame(long pfn) {
        if (!Addresses.lessThan(pfn, END_OF_FRAMES)) {
            throw new IllegalArgumentException("there is no page frame " + Addresses.hex(pfn));
        }
    }

    private static void requireFrames(long firstPfn, long count) {
        if (Addresses.lessThan(END_OF_FRAMES, count) || Addresses.lessThan(END_OF_FRAMES - count, firstPfn)) {
            throw new IllegalArgumentException("there are no " + Addresses.hex(count) + " page frames from "
                    + Addresses.hex(firstPfn) + ": they end at " + Addresses.hex(END_OF_FRAMES));
        }
    }

    /** Of frames in a row that nothing was ever said about, the last: of its group, of its leaf, or of all. */
    private long lastOfUnknown(long pfn) {
        @Nullable Group[][] leaves = directory.leaves;
        int leafIndex = leafIndexOf(pfn);
        if (leafIndex >= leaves.length) {
            return END_OF_FRAMES - 1;
        }
        return pfn | (leaves[leafIndex] == null ? GROUP_FRAMES * LEAF_GROUPS - 1 : GROUP_FRAMES - 1);
    }

    private static int leafIndexOf(long pfn) {
        return (int) (pfn >>> (GROUP_SHIFT + LEAF_SHIFT));
    }

    private static int groupIndexOf(long pfn) {
        return (int) (pfn >>> GROUP_SHIFT) & (LEAF_GROUPS - 1);
    }

    private static int slotOf(long pfn) {
        return (int) pfn & (GROUP_FRAMES - 1);
    }

    private static int dirtyWordOf(long pfn) {
        return slotOf(pfn) / Integer.SIZE;
    }

    private static int dirtyBitOf(long pfn) {
        return 1 << (int) pfn;
    }
}
