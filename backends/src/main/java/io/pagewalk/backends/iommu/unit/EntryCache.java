package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.unit.VtdFeatures.CacheShape;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Pairs of words, key and value, of which a set-associative cache holds as many as it has room for. A key is never 0,
 * nor is a value.
 *
 * <p>Thread-safe: looking up and filling never wait; dropping waits for who is writing that very entry. Allocates
 * nothing.
 */
final class EntryCache {

    /*
     * A key has one set, and can be in any of its ways. Entries are four words of one array: a version, a key, a value, and, in the
     * first way of a set, the way to displace next. The version is a sequence lock: it is odd while somebody writes, and a reader
     * who finds it changed has read nothing. Writers who find it odd go away if they bring an entry, which is allowed to get lost,
     * and wait if they come to drop.
     *
     * A set is chosen by Fibonacci hashing (Knuth, volume 3, section 6.4), which spreads numbers in a row, or at equal distances, almost
     * evenly; hence the page number is brought down to the lowest bits first, with all else above it.
     *
     * Two threads that fill one key at once may put it into two ways. Both entries are then as good as each other, and dropping
     * looks at all ways.
     */

    /** No value. */
    static final long MISS = 0;

    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int WORDS = 4;
    private static final int KEY = 1;
    private static final int VALUE = 2;
    private static final int NEXT_WAY = 3;
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private final long[] words;
    private final int entries;
    private final int wayWords;
    private final int setShift;

    EntryCache(CacheShape shape) {
        this.entries = shape.entries();
        this.wayWords = shape.ways() * WORDS;
        int sets = Math.max(1, shape.entries() / shape.ways());
        this.setShift = Long.SIZE - Integer.numberOfTrailingZeros(sets);
        this.words = new long[entries * WORDS];
    }

    /** How many entries there are, from 0 on. */
    int entries() {
        return entries;
    }

    // ---- using

    long lookup(long key) {
        int set = set(key);
        for (int at = set; at < set + wayWords; at += WORDS) {
            long version = (long) WORD.getAcquire(words, at);
            if ((long) WORD.getAcquire(words, at + KEY) == key) {
                long value = (long) WORD.getAcquire(words, at + VALUE);
                if ((version & 1) == 0 && (long) WORD.getOpaque(words, at) == version) {
                    return value;
                }
            }
        }
        return MISS;
    }

    /** Keeps a pair, in place of what was held for the key, unless somebody else is writing there. */
    void fill(long key, long value) {
        int at = place(set(key), key);
        long version = (long) WORD.getOpaque(words, at);
        if ((version & 1) == 0 && WORD.compareAndSet(words, at, version, version + 1)) {
            put(at, version, key, value);
        }
    }

    /** The way that has the key, or a free one, or the one whose turn it is. */
    private int place(int set, long key) {
        int free = -1;
        for (int at = set; at < set + wayWords; at += WORDS) {
            long held = (long) WORD.getOpaque(words, at + KEY);
            if (held == key) {
                return at;
            }
            free = held == 0 && free < 0 ? at : free;
        }
        return free >= 0 ? free : displace(set);
    }

    private int displace(int set) {
        int next = (int) (long) WORD.getOpaque(words, set + NEXT_WAY);
        WORD.setOpaque(words, set + NEXT_WAY, (long) ((next + WORDS) & (wayWords - 1)));
        return set + next;
    }

    private void put(int at, long version, long key, long value) {
        VarHandle.storeStoreFence();
        WORD.setOpaque(words, at + KEY, key);
        WORD.setOpaque(words, at + VALUE, value);
        WORD.setRelease(words, at, version + 2);
    }

    // ---- dropping

    /** The key of an entry, 0 for none; another one may be there at once. */
    long keyAt(int entry) {
        return (long) WORD.getOpaque(words, entry * WORDS + KEY);
    }

    /** Drops an entry, whatever it is. */
    void drop(int entry) {
        dropAt(entry * WORDS);
    }

    /** Drops a key, wherever it is held. */
    void dropKey(long key) {
        int set = set(key);
        for (int at = set; at < set + wayWords; at += WORDS) {
            if ((long) WORD.getOpaque(words, at + KEY) == key) {
                dropAt(at);
            }
        }
    }

    private void dropAt(int at) {
        long version = (long) WORD.getOpaque(words, at);
        while ((version & 1) != 0 || !WORD.compareAndSet(words, at, version, version + 1)) {
            Thread.onSpinWait();
            version = (long) WORD.getOpaque(words, at);
        }
        put(at, version, 0, MISS);
    }

    /** How many entries are in use; exact only while nobody fills or drops. */
    int held() {
        int held = 0;
        for (int entry = 0; entry < entries; entry++) {
            held += keyAt(entry) == 0 ? 0 : 1;
        }
        return held;
    }

    /** Where a key's set begins. */
    private int set(long key) {
        return setShift == Long.SIZE
                ? 0
                : (int) ((Long.rotateRight(key, TranslationKeys.PAGE_SHIFT) * SPREAD) >>> setShift) * wayWords;
    }
}
