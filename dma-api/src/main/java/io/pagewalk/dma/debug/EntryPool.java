package io.pagewalk.dma.debug;

/**
 * How many records there may be: those allocated at boot, and a page more whenever they run out.
 *
 * <p>Implements dma-core:DBG-71 to DBG-73. Not thread-safe.
 */
final class EntryPool {
    /** Records of 128 bytes on a page of 4096. */
    static final int ENTRIES_PER_PAGE = 32;
    /** As many as are allocated at boot unless the command line says otherwise. */
    static final int PREALLOCATED = 65536;

    private final long preallocated;
    private final DmaDebugHost host;
    private long free;
    private long minFree;
    private long total;

    EntryPool(long preallocated, DmaDebugHost host) {
        this.preallocated = preallocated;
        this.host = host;
        total = (preallocated + ENTRIES_PER_PAGE - 1) / ENTRIES_PER_PAGE * ENTRIES_PER_PAGE;
        free = total;
        minFree = total;
    }

    /**
     * Takes a record.
     *
     * @return false when the pool is empty and cannot grow
     */
    boolean take() {
        if (free == 0 && !grow()) {
            return false;
        }
        free--;
        minFree = Math.min(minFree, free);
        return true;
    }

    private boolean grow() {
        if (host.hasNoMemory(DmaDebugHost.Need.ENTRIES)) {
            return false;
        }
        total += ENTRIES_PER_PAGE;
        free += ENTRIES_PER_PAGE;
        if (preallocated != 0 && total % preallocated < ENTRIES_PER_PAGE) {
            host.message("pool grown to " + total + " (" + total / preallocated + "00%)");
        }
        return true;
    }

    void give() {
        free++;
    }

    long free() {
        return free;
    }

    long minFree() {
        return minFree;
    }

    long total() {
        return total;
    }
}
