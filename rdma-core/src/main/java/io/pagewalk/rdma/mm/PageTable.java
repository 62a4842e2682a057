package io.pagewalk.rdma.mm;

import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * The page table of one address space: from the number of a virtual page to a {@link Pte}. Four levels, as x86-64 has
 * them; leaves are arrays of 512 primitive entries, so that a walk over neighbouring pages touches no object.
 *
 * <p>Not thread-safe: the lock of {@link UserMemory} guards it. Differs from Linux: tables take no page frames, though
 * there cannot be more than RAM has, and stay until the address space is torn down.
 */
final class PageTable {
    private static final int LEVEL_BITS = 9;
    static final int LEAF_ENTRIES = 1 << LEVEL_BITS;
    private static final int ROOT_ENTRIES = 1 << 8;

    private final FailurePoint tablePages;
    private final long maxTables;
    private long tables;
    private final long[] @Nullable [] @Nullable [] @Nullable [] root = new long[ROOT_ENTRIES][][][];

    /** Each table is a page, so that there is room for as many as RAM has pages. */
    PageTable(FailurePoint tablePages, long maxTables) {
        this.tablePages = tablePages;
        this.maxTables = maxTables;
    }

    /** The leaf that holds a page's entry; null when no page near it was ever mapped. */
    long @Nullable [] leaf(long vpn) {
        long[][][] upper = root[(int) (vpn >>> (3 * LEVEL_BITS))];
        long[][] middle = upper == null ? null : upper[indexOf(vpn >>> (2 * LEVEL_BITS))];
        return middle == null ? null : middle[indexOf(vpn >>> LEVEL_BITS)];
    }

    long get(long vpn) {
        long[] leaf = leaf(vpn);
        return leaf == null ? Pte.NONE : leaf[indexOf(vpn)];
    }

    /** Makes room for a page's entry; false when there is no memory for a table. */
    boolean prepare(long vpn) {
        int top = (int) (vpn >>> (3 * LEVEL_BITS));
        if (root[top] == null) {
            if (!hasRoom()) {
                return false;
            }
            root[top] = new long[LEAF_ENTRIES][][];
        }
        long[][][] upper = root[top];
        int second = indexOf(vpn >>> (2 * LEVEL_BITS));
        if (upper[second] == null) {
            if (!hasRoom()) {
                return false;
            }
            upper[second] = new long[LEAF_ENTRIES][];
        }
        int third = indexOf(vpn >>> LEVEL_BITS);
        if (upper[second][third] == null) {
            if (!hasRoom()) {
                return false;
            }
            upper[second][third] = new long[LEAF_ENTRIES];
        }
        return true;
    }

    private boolean hasRoom() {
        if (tablePages.fails() || tables >= maxTables) {
            return false;
        }
        tables++;
        return true;
    }

    /** Changes the entry of a page whose room was {@linkplain #prepare prepared}. */
    void set(long vpn, long pte) {
        long[] leaf = leaf(vpn);
        if (leaf == null) {
            throw new IllegalStateException("no table for virtual page " + Addresses.hex(vpn));
        }
        leaf[indexOf(vpn)] = pte;
    }

    /** The first page from one on whose entry is not {@link Pte#NONE}; {@code endVpn} when there is none before it. */
    long nextUsed(long vpn, long endVpn) {
        long at = vpn;
        while (at < endVpn) {
            long[] leaf = leaf(at);
            if (leaf == null) {
                at = (at | (lacking(at) - 1)) + 1;
            } else if (leaf[indexOf(at)] != Pte.NONE) {
                return at;
            } else {
                at++;
            }
        }
        return endVpn;
    }

    /** How many pages the highest table that is missing on the way to a page would cover. */
    private long lacking(long vpn) {
        long[][][] upper = root[(int) (vpn >>> (3 * LEVEL_BITS))];
        if (upper == null) {
            return 1L << (3 * LEVEL_BITS);
        }
        return upper[indexOf(vpn >>> (2 * LEVEL_BITS))] == null ? 1L << (2 * LEVEL_BITS) : LEAF_ENTRIES;
    }

    static int indexOf(long vpn) {
        return (int) vpn & (LEAF_ENTRIES - 1);
    }
}
