package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.memory.Addresses;
import java.util.BitSet;
import java.util.Objects;
import java.util.function.IntSupplier;

/**
 * The steering tags of a device. A stag holds, from its highest bit, random bits of the driver's, the index of its
 * entry, and in its low byte a random key of the consumer's. Implements rdma:STAG-1 to STAG-4. Thread-safe.
 */
public final class StagTable {
    private static final int KEY_BITS = 8;
    private static final int KEY_MASK = (1 << KEY_BITS) - 1;
    private static final int INDEX_BITS = 24;

    /** However few entries a device has, the driver's bits stay above these. */
    private static final int FEWEST_INDEX_BITS = 14;

    private final int entries;
    private final int mask;
    private final IntSupplier random;
    private final BitSet used = new BitSet();

    /**
     * Makes a table with no stag in use.
     *
     * @param entries how many entries the device has; that of index 0 is never given out
     * @param random draws 32 bits for each stag
     * @throws IllegalArgumentException when there are fewer than 1 or more than 2^24 entries
     */
    public StagTable(int entries, IntSupplier random) {
        if (entries < 1 || entries > 1 << INDEX_BITS) {
            throw new IllegalArgumentException("a table of " + entries + " stags: an index has 24 bits (rdma:STAG-1)");
        }
        this.entries = entries;
        this.random = Objects.requireNonNull(random, "random");
        mask = maskFor(entries);
        used.set(0);
    }

    /** All but the driver's bits (rdma:STAG-1). */
    private static int maskFor(int entries) {
        int indexBits = Math.max(Integer.SIZE - Integer.numberOfLeadingZeros(entries - 1), FEWEST_INDEX_BITS);
        int driverBits = INDEX_BITS - indexBits;
        return driverBits == 0 ? -1 : -1 >>> driverBits;
    }

    /**
     * Takes a stag. Where its random bits point is tried first, so that a stag comes again as rarely as can be.
     *
     * @return the stag; 0 when all entries are in use
     */
    public int create() {
        int bits = random.getAsInt();
        int hint = ((bits & mask) >>> KEY_BITS) % entries;
        int index = take(hint);
        return index == 0 ? 0 : (index << KEY_BITS | (bits & ~mask)) + (bits & KEY_MASK);
    }

    private synchronized int take(int hint) {
        int index = used.nextClearBit(hint);
        if (index >= entries) {
            index = used.nextClearBit(0);
        }
        if (index >= entries) {
            return 0;
        }
        used.set(index);
        return index;
    }

    /**
     * Gives a stag back.
     *
     * @param stag any that has its index and its driver's bits; the key does not count
     * @throws IllegalArgumentException when no stag of that index is in use; nothing changes then
     */
    public synchronized void free(int stag) {
        int index = index(stag);
        if (index == 0 || !used.get(index)) {
            throw new IllegalArgumentException("stag " + Addresses.hex(stag & 0xffff_ffffL) + " has index " + index
                    + ", of which no stag is in use");
        }
        used.clear(index);
    }

    /**
     * The entry that a stag has in the driver's table.
     *
     * @param stag a stag
     * @return its index
     */
    public int index(int stag) {
        return (stag & mask) >>> KEY_BITS;
    }

    /**
     * The index that commands to the device carry: the driver's bits are part of it.
     *
     * @param stag a stag
     * @return its upper 24 bits
     */
    public static int hardwareIndex(int stag) {
        return stag >>> KEY_BITS;
    }

    /**
     * The key of the consumer's.
     *
     * @param stag a stag
     * @return its low byte
     */
    public static int key(int stag) {
        return stag & KEY_MASK;
    }

    /**
     * Which bits of a stag are index and key.
     *
     * @return the others are zero
     */
    public int mask() {
        return mask;
    }

    /**
     * How many stags are in use.
     *
     * @return without the entry that is never given out
     */
    public synchronized int inUse() {
        return used.cardinality() - 1;
    }
}
