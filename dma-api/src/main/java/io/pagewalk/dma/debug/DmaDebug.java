package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedSet;

/**
 * dma-debug: takes the calls of the DMA API one after the other and reports those that are wrong.
 *
 * <p>Implements dma-core:DBG-1, DBG-30, DBG-72, DBG-73, DBG-76; the rest of DBG stands in the classes that it is made
 * of. Thread-safe, by one lock; calls of several threads count as in the order in which they come.
 */
public final class DmaDebug {
    /*
     * The kernel keeps a record of every mapping in a hash and looks each later call up there. What a driver does wrong shows as
     * a record that is missing or disagrees. Lookup is by bucket and likeness and has quirks (RecordTable), the first cacheline of
     * each mapping that a device may write is counted over all devices (CachelineTracker), and records are taken from a pool that
     * grows (EntryPool). Most errors are counted but not printed (ErrorLimits). All of that is as in the kernel, so that its
     * reports can be predicted; what the kernel would not print is reported all the same, marked as not shown.
     *
     * Beside it stands a book of live and ended mappings by address (AddressBook), which no check looks at: it only adds to a
     * report what lies nearest and what was there last.
     */
    private final Object lock = new Object();
    private final DmaDebugOptions options;
    private final Reporter reporter;
    private final Ledger ledger;
    private final MapChecks mapChecks;
    private final UnmapChecks unmapChecks;
    private final SyncChecks syncChecks;
    private final ExtraChecks extraChecks;
    private final DmaDebugFiles files;
    private long calls;

    /**
     * Starts without a record.
     *
     * @param options how it works
     * @param host its surroundings
     */
    public DmaDebug(DmaDebugOptions options, DmaDebugHost host) {
        this.options = options;
        AddressBook book = new AddressBook();
        reporter = new Reporter(options, book, host);
        ledger = new Ledger(options, book, reporter, host);
        mapChecks = new MapChecks(options, ledger, reporter, host);
        unmapChecks = new UnmapChecks(ledger, reporter, mapChecks);
        syncChecks = new SyncChecks(ledger, reporter, unmapChecks);
        extraChecks = new ExtraChecks(ledger, reporter);
        files = new DmaDebugFiles(lock, ledger, reporter);
    }

    /**
     * Takes the next call.
     *
     * @param call what was called
     */
    public void accept(DmaCall call) {
        Objects.requireNonNull(call, "call");
        synchronized (lock) {
            calls++;
            if (!ledger.isDisabled()) {
                play(call);
            }
        }
    }

    private void play(DmaCall call) {
        if (!playMap(call) && !playUnmap(call) && !playSync(call)) {
            playRest(call);
        }
    }

    private boolean playMap(DmaCall call) {
        if (call instanceof DmaCall.MapPage map) {
            mapChecks.page(map);
        } else if (call instanceof DmaCall.MapSg map) {
            mapChecks.sg(map);
        } else if (call instanceof DmaCall.MapPointer pointer) {
            mapChecks.pointer(pointer);
        } else if (call instanceof DmaCall.MapResource map) {
            mapChecks.resource(map);
        } else if (call instanceof DmaCall.Alloc alloc) {
            mapChecks.alloc(alloc);
        } else {
            return false;
        }
        return true;
    }

    private boolean playUnmap(DmaCall call) {
        if (call instanceof DmaCall.UnmapPage u) {
            unmap(u.caller(), MappingType.SINGLE, u.dmaAddr(), u.sizeBytes(), u.direction());
        } else if (call instanceof DmaCall.UnmapSg unmap) {
            unmapChecks.unmapSg(unmap);
        } else if (call instanceof DmaCall.UnmapResource u) {
            unmap(u.caller(), MappingType.RESOURCE, u.dmaAddr(), u.sizeBytes(), u.direction());
        } else if (call instanceof DmaCall.Free f) {
            unmapChecks.unmap(
                    f.caller(),
                    DebugRef.single(f.caller(), f.type(), f.dmaAddr(), f.sizeBytes(), f.direction(), f.physAddr()));
        } else {
            return false;
        }
        return true;
    }

    private void unmap(Caller caller, MappingType type, long dmaAddr, long sizeBytes, DmaDirection direction) {
        unmapChecks.unmap(
                caller, DebugRef.single(caller, type, dmaAddr, sizeBytes, direction, DmaCall.UNKNOWN_PHYS_ADDR));
    }

    private boolean playSync(DmaCall call) {
        if (call instanceof DmaCall.SyncSingle s) {
            DebugRef ref = DebugRef.single(
                    s.caller(),
                    MappingType.SINGLE,
                    s.dmaAddr(),
                    s.sizeBytes(),
                    s.direction(),
                    DmaCall.UNKNOWN_PHYS_ADDR);
            syncChecks.sync(s.caller(), ref, s.forCpu());
        } else if (call instanceof DmaCall.SyncSg sync) {
            syncChecks.syncSg(sync);
        } else {
            return false;
        }
        return true;
    }

    private void playRest(DmaCall call) {
        if (call instanceof DmaCall.MappingError asked) {
            mapChecks.mappingError(asked.caller().device(), asked.dmaAddr());
        } else if (call instanceof DmaCall.DriverUnbound unbound) {
            unmapChecks.unbound(unbound.caller());
        } else if (call instanceof DmaCall.Gap) {
            ledger.forget();
            unmapChecks.knowNotAll();
        } else if (options.profile().checksExtras()) {
            extraChecks.play(call);
        }
    }

    /**
     * Says who a live mapping is for; reports of it tell from now on. Nothing happens when there is none.
     *
     * @param device whose mapping
     * @param dmaAddr where it starts; of several the latest
     * @param owner a word for the owner
     */
    public void tag(DebugDevice device, long dmaAddr, String owner) {
        synchronized (lock) {
            ledger.book.tag(device, dmaAddr, owner);
        }
    }

    /** Which of some pages live mappings lead to, so that the others need not be told of. */
    SortedSet<Long> heldPages(long firstPfn, long count) {
        synchronized (lock) {
            return ledger.pages.heldOf(firstPfn, count);
        }
    }

    /**
     * How it works.
     *
     * @return the options it was made with
     */
    public DmaDebugOptions options() {
        return options;
    }

    /**
     * The files of the kernel's debugfs directory {@code dma-api} (dma-core:DBG-74).
     *
     * @return always the same
     */
    public DmaDebugFiles files() {
        return files;
    }

    /**
     * The latest reports, oldest first; whether the kernel would have printed them or not.
     *
     * @return a copy
     */
    public List<DmaDebugReport> reports() {
        synchronized (lock) {
            return reporter.reports();
        }
    }

    /**
     * How many reports of a kind there were.
     *
     * @param kind the kind
     * @return the exact count
     */
    public long count(DmaDebugKind kind) {
        synchronized (lock) {
            return reporter.count(kind);
        }
    }

    /**
     * How many reports of each kind there were.
     *
     * @return a copy without zeros, in the order of {@link DmaDebugKind}
     */
    public Map<DmaDebugKind, Long> counts() {
        synchronized (lock) {
            return reporter.counts();
        }
    }

    /**
     * How many reports there were.
     *
     * @return the exact count, those that no kernel makes included
     */
    public long reportCount() {
        synchronized (lock) {
            return reporter.total();
        }
    }

    /**
     * The kernel's {@code error_count} (dma-core:DBG-7).
     *
     * @return all errors, shown or not
     */
    public long errorCount() {
        synchronized (lock) {
            return reporter.limits.errorCount();
        }
    }

    /**
     * How many calls came.
     *
     * @return the count
     */
    public long calls() {
        synchronized (lock) {
            return calls;
        }
    }

    /**
     * Whether it is off, for good (dma-core:DBG-1).
     *
     * @return true after {@code dma_debug=off}, and once memory ran out
     */
    public boolean isDisabled() {
        synchronized (lock) {
            return ledger.isDisabled();
        }
    }

    /**
     * How many records are live.
     *
     * @return mappings, segments and allocations
     */
    public int liveCount() {
        synchronized (lock) {
            return ledger.table.size();
        }
    }

    /**
     * What is live, in the order of the hash.
     *
     * @return a copy
     */
    public List<DebugMapping> live() {
        synchronized (lock) {
            List<DebugMapping> all = new ArrayList<>();
            ledger.table.forEach(r -> all.add(r.snapshot()));
            return all;
        }
    }

    /**
     * How many records are free (dma-core:DBG-71).
     *
     * @return {@code num_free_entries}
     */
    public long freeEntries() {
        synchronized (lock) {
            return ledger.pool.free();
        }
    }

    /**
     * How many records were free at the least (dma-core:DBG-73).
     *
     * @return {@code min_free_entries}
     */
    public long minFreeEntries() {
        synchronized (lock) {
            return ledger.pool.minFree();
        }
    }

    /**
     * How many records there are (dma-core:DBG-72).
     *
     * @return {@code nr_total_entries}
     */
    public long totalEntries() {
        synchronized (lock) {
            return ledger.pool.total();
        }
    }

    /**
     * How often the line of an address is held beyond the first time (dma-core:DBG-21).
     *
     * @param physAddr the address
     * @return 0 to 7, or -1 when no mapping that a device may write begins there
     */
    public int overlapOf(long physAddr) {
        synchronized (lock) {
            return ledger.lines.overlapOf(ledger.lines.lineOf(physAddr));
        }
    }
}
