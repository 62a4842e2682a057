package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.events.HeldPages;
import org.jspecify.annotations.Nullable;

/**
 * All that is recorded of live mappings: the hash, cachelines, the pool of records, and what is kept beyond the kernel.
 *
 * <p>Implements dma-core:DBG-21 to DBG-23, DBG-72. Not thread-safe.
 */
final class Ledger {
    final RecordTable table = new RecordTable();
    final CachelineTracker lines;
    final EntryPool pool;
    final AddressBook book;
    final HeldPages<DebugRecord> pages = new HeldPages<>();
    private final DmaDebugHost host;
    private final DmaDebugProfile profile;
    private final Reporter reporter;
    private boolean exceededTold;
    private boolean disabled;

    Ledger(DmaDebugOptions options, AddressBook book, Reporter reporter, DmaDebugHost host) {
        this.lines = new CachelineTracker(options.cachelineShift());
        this.pool = new EntryPool(options.entries(), host);
        this.book = book;
        this.host = host;
        this.profile = options.profile();
        this.reporter = reporter;
        this.disabled = options.disabled();
    }

    boolean isDisabled() {
        return disabled;
    }

    /** There is no way back (DBG-1). */
    private void disable(String why) {
        disabled = true;
        host.message(why);
    }

    /**
     * Takes a record from the pool for what {@link #add} will be given.
     *
     * @return false when there is none, and dma-debug is off from now on
     */
    boolean reserve() {
        if (disabled) {
            return false;
        }
        if (!pool.take()) {
            disable("debugging out of memory - disabling");
            return false;
        }
        return true;
    }

    void add(DebugRecord record, int attrs) {
        table.add(record);
        book.add(record);
        if (!CachelineTracker.isTracked(record)) {
            return;
        }
        if (host.hasNoMemory(DmaDebugHost.Need.CACHELINE)) {
            disable("cacheline tracking ENOMEM, dma-debug disabled");
            return;
        }
        CachelineTracker.Insert found = lines.insert(record);
        if (found != CachelineTracker.Insert.FREE && profile.checksSharedLines()) {
            reportSharedLine(record, attrs, found == CachelineTracker.Insert.EXCEEDED);
        }
    }

    private void reportSharedLine(DebugRecord record, int attrs, boolean exceeded) {
        long line = lines.lineOf(record.physAddr);
        @Nullable DebugRecord other = lines.holderOf(line, record);
        if (exceeded && !exceededTold) {
            exceededTold = true;
            reporter.reportShared(DmaDebugKind.CACHELINE_EXCEEDED, record, other, ReportField.address("cln", line));
        }
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0 && !host.bouncesSharedLines(record.device)) {
            reporter.reportShared(DmaDebugKind.CACHELINE_EEXIST, record, other);
        }
    }

    void remove(DebugRecord record, Caller ending) {
        table.remove(record);
        book.remove(record, ending);
        lines.remove(record);
        pages.release(record);
        pool.give();
    }

    /** Forgets everything live, without a word. */
    void forget() {
        table.forEach(r -> {
            lines.remove(r);
            pages.release(r);
            pool.give();
        });
        table.clear();
        book.clear();
    }
}
