package io.pagewalk.rdma.i40iw;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A list of page buffers: PBLEs in one run (level 1), or in leaves of 512 whose indexes stand in a root (level 2). The
 * object is the caller's, and is used again after it was freed. Not thread-safe.
 */
public final class PbleAllocation {
    static final int LEAF_PBLES = 512;

    private int level;
    private int count;
    private @Nullable PbleRun root;
    private List<PbleRun> leaves = List.of();

    /** Makes one that holds nothing. */
    public PbleAllocation() {}

    /**
     * How the list is laid out.
     *
     * @return 0 for nothing, 1, or 2
     */
    public int level() {
        return level;
    }

    /**
     * How many PBLEs were asked for.
     *
     * @return without those of a root
     */
    public int count() {
        return count;
    }

    /**
     * What commands to the device carry: the index of the run, or of the root.
     *
     * @return the index, from the base of the device's PBLEs on
     * @throws IllegalStateException when nothing is held
     */
    public int index() {
        return root().index();
    }

    /**
     * The index of a leaf.
     *
     * @param leaf which, from 0
     * @return the index of its first PBLE
     * @throws IndexOutOfBoundsException when the list has no such leaf
     */
    public int leafIndex(int leaf) {
        return leaves.get(Objects.checkIndex(leaf, leaves.size())).index();
    }

    /**
     * How many leaves there are.
     *
     * @return 0 at level 1
     */
    public int leaves() {
        return leaves.size();
    }

    /** Where the n-th PBLE lies. */
    long fpmAddr(int pble) {
        Objects.checkIndex(pble, count);
        PbleRun run = level == 2 ? leaves.get(pble / LEAF_PBLES) : root();
        return run.fpmAddr() + 8L * (level == 2 ? pble % LEAF_PBLES : pble);
    }

    PbleRun root() {
        if (root == null) {
            throw new IllegalStateException("no PBLEs are held");
        }
        return root;
    }

    List<PbleRun> leafRuns() {
        return leaves;
    }

    void hold(int pbles, PbleRun newRoot, List<PbleRun> newLeaves) {
        level = newLeaves.isEmpty() ? 1 : 2;
        count = pbles;
        root = newRoot;
        leaves = newLeaves;
    }

    void clear() {
        level = 0;
        count = 0;
        root = null;
        leaves = List.of();
    }
}
