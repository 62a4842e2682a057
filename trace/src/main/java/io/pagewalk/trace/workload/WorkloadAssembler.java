package io.pagewalk.trace.workload;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.trace.DmaEvent;
import io.pagewalk.trace.IommuEvent;
import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceHeader;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Turns the events of a trace, one after the other, into the calls that drivers made: pairs each unmap with its map,
 * rebuilds the lengths of lists that an IOMMU merged, and counts what does not fit as {@link Anomaly}.
 *
 * <p>Memory is bounded by what is live in the trace. For one thread.
 */
public final class WorkloadAssembler {
    /*
     * How an address comes to be live twice. On dma-direct (DMA address = physical address) each mapping of a buffer has the same
     * address, and several may be live: normal. Elsewhere an address belongs to one mapping at a time, but the line of an unmap
     * may come after that of the map that got its address next. So two are not enough to tell a lost unmap; a gap of lost events
     * since the older one was made is, and so are more than two. Past gaps, dma-direct has only likeness to go by.
     */
    private static final int MOST_AT_TRANSLATED_ADDRESS = 2;
    private static final int MOST_AT_DIRECT_ADDRESS = 1024;

    private static final long FAILED = -1L;

    private final OperationSink sink;
    private final AnomalyCounts anomalies;
    private final MapPieces pieces = new MapPieces();
    private final Bounces bounces;
    private final Map<String, DeviceLive> devices = new HashMap<>();
    private final Map<String, Long> masks = new HashMap<>();
    private long nextId;
    private long gaps;
    private long dmaEvents;
    private long iommuEvents;

    /**
     * Makes an assembler.
     *
     * @param sink takes the operations
     * @param anomalies counts what does not fit
     */
    public WorkloadAssembler(OperationSink sink, AnomalyCounts anomalies) {
        this.sink = sink;
        this.anomalies = anomalies;
        this.bounces = new Bounces(anomalies);
    }

    /**
     * Takes the next event.
     *
     * @param event an event of the trace
     */
    public void accept(TraceEvent event) {
        if (event instanceof DmaEvent dma) {
            dmaEvents++;
            acceptDma(dma);
            bounces.goesOn(event.header());
        } else if (event instanceof IommuEvent iommu) {
            iommuEvents++;
            if (iommu instanceof IommuEvent.IommuMap map) {
                pieces.add(map);
            }
        } else if (event instanceof TraceEvent.SwiotlbBounced bounced) {
            learnMask(bounced);
            bounces.add(bounced);
        } else if (event instanceof TraceEvent.LostEvents lost) {
            lost(lost);
        }
    }

    /** Says that the trace is over: what still waits for a line that will not come is counted. */
    public void finish() {
        bounces.finish();
    }

    /**
     * How many events of the {@code dma} system came.
     *
     * @return the count so far
     */
    public long dmaEvents() {
        return dmaEvents;
    }

    /**
     * How many events of the {@code iommu} system came.
     *
     * @return the count so far
     */
    public long iommuEvents() {
        return iommuEvents;
    }

    /**
     * How much is live, lists that are left out included.
     *
     * @return mappings and allocations
     */
    public int liveCount() {
        return devices.values().stream().mapToInt(DeviceLive::size).sum();
    }

    private void learnMask(TraceEvent.SwiotlbBounced event) {
        Long known = masks.put(event.device(), event.dmaMask());
        if (known == null || known != event.dmaMask()) {
            sink.accept(new Operation.LearnedMask(Origin.of(event.header()), event.device(), event.dmaMask()));
        }
    }

    private void lost(TraceEvent.LostEvents event) {
        gaps++;
        anomalies.add(Anomaly.LOST_EVENTS_GAP);
        pieces.forget(event.cpu());
        bounces.forget(event.cpu());
    }

    private void acceptDma(DmaEvent event) {
        if (event instanceof DmaEvent.MapPage map) {
            mapPage(map);
        } else if (event instanceof DmaEvent.UnmapPage unmap) {
            unmapPage(unmap);
        } else if (event instanceof SgEvent.MapSg map) {
            mapSg(map);
        } else if (event instanceof SgEvent.UnmapSg unmap) {
            unmapSg(unmap);
        } else if (event instanceof DmaEvent.SyncSingle sync) {
            syncSingle(sync);
        } else if (event instanceof SgEvent.SyncSg sync) {
            syncSg(sync);
        } else if (event instanceof DmaEvent.CoherentAlloc alloc) {
            alloc(alloc);
        } else if (event instanceof DmaEvent.CoherentFree free) {
            free(free);
        } else if (event instanceof SgEvent.MapSgError failed) {
            anomalies.add(Anomaly.FAILED_LIST_LENGTHS_UNKNOWN);
            bounces.claim(failed.header(), failed.device(), failed.physAddrs());
        } else {
            anomalies.add(Anomaly.NOT_REPLAYED_CALL);
        }
    }

    private void mapPage(DmaEvent.MapPage event) {
        claimPieces(event.header(), event.dmaAddr(), event.sizeBytes());
        bounces.claim(event.header(), event.device(), event.physAddr());
        boolean failed = event.dmaAddr() == FAILED;
        long id = nextId;
        if (!failed) {
            boolean direct = event.dmaAddr() == event.physAddr();
            LiveEntry entry = LiveEntry.page(id, event.dmaAddr(), event.sizeBytes(), event.direction(), gaps);
            start(event.header(), event.device(), entry, direct);
        }
        nextId++;
        sink.accept(new Operation.Map(
                Origin.of(event.header()),
                id,
                event.device(),
                event.direction(),
                Operation.Kind.PAGE,
                new long[] {event.physAddr()},
                new long[] {event.sizeBytes()},
                (int) event.attrs(),
                failed));
    }

    private void mapSg(SgEvent.MapSg event) {
        boolean hasPieces = claimPieces(event);
        bounces.claim(event.header(), event.device(), event.physAddrs());
        if (event.physAddrs().length == 0 || event.dmaAddrs().length == 0) {
            anomalies.add(Anomaly.NOT_REPLAYABLE_LIST);
            return;
        }
        long[] lengths = event.truncated() ? null : lengthsOf(event, hasPieces);
        boolean direct = event.dmaAddrs()[0] == event.physAddrs()[0];
        if (lengths == null) {
            anomalies.add(event.truncated() ? Anomaly.TRUNCATED_LIST : Anomaly.NOT_REPLAYABLE_LIST);
            start(event.header(), event.device(), leftOut(event), direct);
            return;
        }
        long id = nextId;
        LiveEntry entry =
                LiveEntry.list(id, event.dmaAddrs()[0], event.lengths()[0], event.direction(), event.physAddrs(), gaps);
        start(event.header(), event.device(), entry, direct);
        nextId++;
        sink.accept(new Operation.Map(
                Origin.of(event.header()),
                id,
                event.device(),
                event.direction(),
                Operation.Kind.SG,
                event.physAddrs(),
                lengths,
                (int) event.attrs(),
                false));
    }

    /** Without merging each DMA segment is a segment of the list. */
    private long @Nullable [] lengthsOf(SgEvent.MapSg event, boolean hasPieces) {
        if (event.fullEnts() == event.fullNents() && event.lengths().length == event.physAddrs().length) {
            return event.lengths();
        }
        return hasPieces ? SgLengths.rebuild(event, pieces.run()) : null;
    }

    private LiveEntry leftOut(SgEvent.MapSg event) {
        return LiveEntry.listLeftOut(
                event.dmaAddrs()[0], event.lengths()[0], event.direction(), event.physAddrs(), gaps, event.truncated());
    }

    private boolean claimPieces(SgEvent.MapSg event) {
        int last = event.dmaAddrs().length - 1;
        if (last < 0 || event.truncated()) {
            return false;
        }
        long first = event.dmaAddrs()[0];
        long span = event.dmaAddrs()[last] + event.lengths()[last] - first;
        return claimPieces(event.header(), first, span);
    }

    /** Takes the map lines of a range of DMA addresses, rounded to pages, so that they are nobody else's. */
    private boolean claimPieces(TraceHeader header, long dmaAddr, long sizeBytes) {
        long first = dmaAddr & Addresses.PAGE_MASK;
        long last = (dmaAddr + sizeBytes - 1) | ~Addresses.PAGE_MASK;
        return pieces.claim(header.cpu(), header.pid(), first, last);
    }

    private DeviceLive live(String device) {
        return devices.computeIfAbsent(device, name -> new DeviceLive());
    }

    private void start(TraceHeader header, String device, LiveEntry entry, boolean direct) {
        DeviceLive live = live(device);
        endOverwritten(header, device, live, entry, direct);
        live.add(entry);
    }

    /** Ends what an address that is handed out again shows to be gone (see the essay above). */
    private void endOverwritten(TraceHeader header, String device, DeviceLive live, LiveEntry entry, boolean direct) {
        LiveEntry oldest = live.oldestAt(entry.dmaAddr);
        int count = 0;
        LiveEntry at = oldest;
        while (at != null) {
            LiveEntry younger = at.nextAtAddress;
            boolean gapSince = at.gapsBefore < gaps;
            if (gapSince && (!direct || at.isLike(entry.kind, entry.sizeBytes, entry.direction))) {
                endImplied(header, device, live, at);
            } else {
                count++;
            }
            at = younger;
        }
        oldest = live.oldestAt(entry.dmaAddr);
        if (oldest != null && count >= (direct ? MOST_AT_DIRECT_ADDRESS : MOST_AT_TRANSLATED_ADDRESS)) {
            endImplied(header, device, live, oldest);
        }
    }

    private void endImplied(TraceHeader header, String device, DeviceLive live, LiveEntry entry) {
        anomalies.add(Anomaly.IMPLIED_UNMAP);
        live.remove(entry);
        if (entry.isReplayed) {
            Origin origin = Origin.of(header);
            sink.accept(
                    entry.kind == LiveEntry.Kind.ALLOC
                            ? new Operation.Free(origin, entry.id, device, true)
                            : new Operation.Unmap(origin, entry.id, device, 0, true));
        }
    }

    private void unmapPage(DmaEvent.UnmapPage event) {
        DeviceLive live = live(event.device());
        LiveEntry entry = live.toEnd(LiveEntry.Kind.PAGE, event.dmaAddr(), event.sizeBytes(), event.direction());
        if (entry == null) {
            anomalies.add(Anomaly.UNMAP_WITHOUT_MAP);
            return;
        }
        if (!entry.isLike(LiveEntry.Kind.PAGE, event.sizeBytes(), event.direction())) {
            anomalies.add(Anomaly.UNMAP_DIFFERS_FROM_MAP);
        }
        live.remove(entry);
        unmap(event.header(), event.device(), entry, event.attrs());
    }

    private void unmapSg(SgEvent.UnmapSg event) {
        DeviceLive live = live(event.device());
        boolean empty = event.physAddrs().length == 0;
        LiveEntry entry = empty ? null : live.listToEnd(event.direction(), event.physAddrs());
        if (entry == null) {
            anomalies.add(Anomaly.UNMAP_WITHOUT_MAP);
            return;
        }
        live.remove(entry);
        unmap(event.header(), event.device(), entry, event.attrs());
    }

    private void unmap(TraceHeader header, String device, LiveEntry entry, long attrs) {
        if (entry.isReplayed) {
            sink.accept(new Operation.Unmap(Origin.of(header), entry.id, device, (int) attrs, false));
        }
    }

    private void syncSingle(DmaEvent.SyncSingle event) {
        LiveEntry entry = live(event.device()).holderOf(event.dmaAddr(), event.sizeBytes());
        if (entry == null) {
            anomalies.add(Anomaly.SYNC_WITHOUT_MAP);
            return;
        }
        long offset = event.dmaAddr() - entry.dmaAddr;
        sync(event.header(), event.device(), entry, offset, event.sizeBytes(), event.forCpu());
    }

    private void syncSg(SgEvent.SyncSg event) {
        LiveEntry entry =
                event.dmaAddrs().length == 0 ? null : live(event.device()).listAt(event.dmaAddrs()[0]);
        if (entry == null) {
            anomalies.add(Anomaly.SYNC_WITHOUT_MAP);
            return;
        }
        long size = 0;
        for (long length : event.lengths()) {
            size += length;
        }
        sync(event.header(), event.device(), entry, 0, size, event.forCpu());
    }

    private void sync(TraceHeader header, String device, LiveEntry entry, long offset, long sizeBytes, boolean forCpu) {
        if (entry.isReplayed) {
            Origin origin = Origin.of(header);
            sink.accept(
                    forCpu
                            ? new Operation.SyncForCpu(origin, entry.id, device, offset, sizeBytes)
                            : new Operation.SyncForDevice(origin, entry.id, device, offset, sizeBytes));
        }
    }

    private void alloc(DmaEvent.CoherentAlloc event) {
        long pages = Addresses.alignUp(event.sizeBytes(), Addresses.PAGE_SIZE);
        claimPieces(event.header(), event.dmaAddr(), pages);
        boolean failed = event.dmaAddr() == FAILED || event.dmaAddr() == 0;
        long id = nextId;
        if (!failed) {
            LiveEntry entry = LiveEntry.alloc(id, event.dmaAddr(), event.sizeBytes(), gaps);
            start(event.header(), event.device(), entry, false);
        }
        nextId++;
        sink.accept(new Operation.Alloc(
                Origin.of(event.header()), id, event.device(), event.sizeBytes(), (int) event.attrs(), failed));
    }

    private void free(DmaEvent.CoherentFree event) {
        if (event.dmaAddr() == 0 && event.sizeBytes() == 0) {
            return; // A free of NULL: the event is written before the kernel's check for it.
        }
        DeviceLive live = live(event.device());
        LiveEntry entry =
                live.toEnd(LiveEntry.Kind.ALLOC, event.dmaAddr(), event.sizeBytes(), DmaDirection.BIDIRECTIONAL);
        if (entry == null) {
            anomalies.add(Anomaly.FREE_WITHOUT_ALLOC);
            return;
        }
        live.remove(entry);
        sink.accept(new Operation.Free(Origin.of(event.header()), entry.id, event.device(), false));
    }
}
