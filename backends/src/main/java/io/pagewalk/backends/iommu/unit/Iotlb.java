package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.memory.Addresses;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The IOTLB: translations by domain, page and page size, until they are invalidated or displaced. Implements
 * iommu:INV-1 and iommu:INV-3.
 *
 * <p>What it says may differ from the tables: that is what invalidation is for. Thread-safe; allocates nothing.
 */
final class Iotlb {

    /*
     * Direct-mapped: a page has one place, and a look-up tries that place for each page size in use. Entries are four words of one
     * array: a version, a key, a value and a spare one. The version is a sequence lock. It is odd while somebody writes, and a
     * reader who finds it changed has read nothing. Writers who find it odd go away if they bring a translation, which is
     * allowed to get lost, and wait if they come to invalidate.
     *
     * The key packs page number, domain and level, the value what a walk answers: address, level and permissions. A key is
     * never 0, as levels begin with 1.
     */

    /** No translation. */
    static final long MISS = 0;

    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
    private static final int WORDS = 4;
    private static final int KEY = 1;
    private static final int VALUE = 2;
    private static final int LEVELS = 3;
    private static final long SPREAD = 0x9E37_79B9_7F4A_7C15L;

    private final long[] words;
    private final int entries;
    private final int shift;

    /** Bit n says that level n was ever filled. */
    private volatile int levelsInUse;

    Iotlb(int entries) {
        this.entries = entries;
        this.shift = Long.SIZE - Integer.numberOfTrailingZeros(entries);
        this.words = new long[entries * WORDS];
    }

    // ---- using

    /**
     * Finds the translation of a page.
     *
     * @return what {@link SecondStageWalk} answered when it was filled, or {@link #MISS}
     */
    long lookup(int domainId, long iova) {
        int levels = levelsInUse;
        for (int level = 1; levels >>> level != 0; level++) {
            if ((levels >>> level & 1) != 0) {
                long value = lookupAt(key(domainId, iova, level));
                if (value != MISS) {
                    return value;
                }
            }
        }
        return MISS;
    }

    private long lookupAt(long key) {
        int at = place(key);
        long version = (long) WORD.getAcquire(words, at);
        if ((long) WORD.getAcquire(words, at + KEY) != key) {
            return MISS;
        }
        long value = (long) WORD.getAcquire(words, at + VALUE);
        boolean settled = (version & 1) == 0 && (long) WORD.getOpaque(words, at) == version;
        return settled ? value : MISS;
    }

    /** Keeps a translation, unless somebody else is writing its place. */
    void fill(int domainId, long iova, long translation) {
        int level = SecondStageWalk.level(translation);
        if ((levelsInUse >>> level & 1) == 0) {
            noteLevel(level);
        }
        long key = key(domainId, iova, level);
        int at = place(key);
        long version = (long) WORD.getOpaque(words, at);
        if ((version & 1) == 0 && WORD.compareAndSet(words, at, version, version + 1)) {
            put(at, version, key, translation);
        }
    }

    private synchronized void noteLevel(int level) {
        levelsInUse |= 1 << level;
    }

    private void put(int at, long version, long key, long value) {
        VarHandle.storeStoreFence();
        WORD.setOpaque(words, at + KEY, key);
        WORD.setOpaque(words, at + VALUE, value);
        WORD.setRelease(words, at, version + 2);
    }

    // ---- invalidating

    void invalidateAll() {
        for (int entry = 0; entry < entries; entry++) {
            drop(entry * WORDS);
        }
    }

    void invalidateDomain(int domainId) {
        for (int entry = 0; entry < entries; entry++) {
            int at = entry * WORDS;
            long key = (long) WORD.getOpaque(words, at + KEY);
            if (key != 0 && domainOf(key) == domainId) {
                drop(at);
            }
        }
    }

    /** Drops what overlaps 2^addressMask pages, larger pages that hold them included (iommu:INV-3). */
    void invalidatePages(int domainId, long iova, int addressMask) {
        if (addressMask < Long.SIZE - 12 && 1L << addressMask <= entries / 2) {
            invalidateFew(domainId, iova, addressMask);
        } else {
            invalidateScanning(domainId, iova, addressMask);
        }
    }

    private void invalidateFew(int domainId, long iova, int addressMask) {
        int levels = levelsInUse;
        long sizeBytes = 1L << (12 + addressMask);
        long first = Addresses.alignDown(iova, sizeBytes);
        for (int level = 1; level <= LEVELS; level++) {
            long step = SecondStageWalk.pageBytes(level);
            for (long offset = 0; (levels >>> level & 1) != 0 && offset < sizeBytes; offset += step) {
                dropIfHeld(key(domainId, first + offset, level));
            }
        }
    }

    private void dropIfHeld(long key) {
        int at = place(key);
        if ((long) WORD.getOpaque(words, at + KEY) == key) {
            drop(at);
        }
    }

    private void invalidateScanning(int domainId, long iova, int addressMask) {
        long sizeBytes = addressMask < Long.SIZE - 12 ? 1L << (12 + addressMask) : 0;
        long first = iova & -sizeBytes;
        for (int entry = 0; entry < entries; entry++) {
            int at = entry * WORDS;
            long key = (long) WORD.getOpaque(words, at + KEY);
            if (key != 0 && domainOf(key) == domainId && touches(key, first, sizeBytes)) {
                drop(at);
            }
        }
    }

    /** A size of 0 stands for the whole address space. */
    private static boolean touches(long key, long first, long sizeBytes) {
        return sizeBytes == 0
                || Addresses.overlaps(iovaOf(key), SecondStageWalk.pageBytes(levelOf(key)), first, sizeBytes);
    }

    private void drop(int at) {
        long version = (long) WORD.getOpaque(words, at);
        while ((version & 1) != 0 || !WORD.compareAndSet(words, at, version, version + 1)) {
            Thread.onSpinWait();
            version = (long) WORD.getOpaque(words, at);
        }
        put(at, version, 0, MISS);
    }

    // ---- counting what is held

    int held() {
        int held = 0;
        for (int entry = 0; entry < entries; entry++) {
            held += (long) WORD.getOpaque(words, entry * WORDS + KEY) == 0 ? 0 : 1;
        }
        return held;
    }

    // ---- keys

    private static long key(int domainId, long iova, int level) {
        long page = iova & -SecondStageWalk.pageBytes(level);
        return (page >>> 12 << 18) | (long) domainId << 2 | level;
    }

    private static int domainOf(long key) {
        return (int) (key >>> 2) & 0xffff;
    }

    private static int levelOf(long key) {
        return (int) key & 3;
    }

    private static long iovaOf(long key) {
        return key >>> 18 << 12;
    }

    private int place(long key) {
        return shift == Long.SIZE ? 0 : (int) ((key * SPREAD) >>> shift) * WORDS;
    }
}
