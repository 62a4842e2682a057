package io.pagewalk.trace.check;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.debug.Caller;
import io.pagewalk.dma.debug.DebugDevice;
import io.pagewalk.dma.debug.DmaCall;
import io.pagewalk.dma.debug.DmaDebug;
import io.pagewalk.dma.debug.MappingType;
import io.pagewalk.dma.debug.Segment;
import io.pagewalk.trace.DmaEvent;
import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceHeader;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** Turns the events of a trace into calls for dma-debug, with the recorded addresses. Not thread-safe. */
final class TraceCalls {
    private static final long FAILED = -1L;

    private final DmaDebug debug;
    private final CheckOptions options;
    private final ListBook lists = new ListBook();
    private final Map<CheckNote, Long> notes = new EnumMap<>(CheckNote.class);
    private final Map<String, DebugDevice> devices = new LinkedHashMap<>();
    private Caller last = new Caller(null, -1, 0, null, null);

    TraceCalls(DmaDebug debug, CheckOptions options) {
        this.debug = debug;
        this.options = options;
        if (options.partial()) {
            debug.accept(new DmaCall.Gap(last));
        }
    }

    void accept(TraceEvent event) {
        if (event instanceof SgEvent sg) {
            acceptList(sg);
        } else if (event instanceof DmaEvent dma) {
            acceptDma(dma);
        } else if (event instanceof TraceEvent.LostEvents) {
            note(CheckNote.GAPS);
            lists.forget();
            debug.accept(new DmaCall.Gap(last));
        }
    }

    private void note(CheckNote note) {
        notes.merge(note, 1L, Long::sum);
    }

    private Caller caller(DmaEvent event) {
        TraceHeader header = event.header();
        DebugDevice device = devices.computeIfAbsent(event.device(), name -> new DebugDevice(name, null, null));
        String task = header.pid() == TraceHeader.NO_PID ? null : header.task() + "-" + header.pid();
        last = new Caller(device, header.cpu(), header.timestampNanos(), task, "line " + header.lineNumber());
        return last;
    }

    private void acceptDma(DmaEvent event) {
        if (event instanceof DmaEvent.MapPage m) {
            noteFailure(m.dmaAddr() == FAILED);
            debug.accept(new DmaCall.MapPage(
                    caller(m), m.physAddr(), m.sizeBytes(), m.direction(), (int) m.attrs(), m.dmaAddr()));
        } else if (event instanceof DmaEvent.UnmapPage u) {
            debug.accept(new DmaCall.UnmapPage(caller(u), u.dmaAddr(), u.sizeBytes(), u.direction()));
        } else if (event instanceof DmaEvent.SyncSingle s) {
            debug.accept(new DmaCall.SyncSingle(caller(s), s.dmaAddr(), s.sizeBytes(), s.direction(), s.forCpu()));
        } else if (event instanceof DmaEvent.MapResource m) {
            noteFailure(m.dmaAddr() == FAILED);
            debug.accept(new DmaCall.MapResource(
                    caller(m), m.physAddr(), m.sizeBytes(), m.direction(), (int) m.attrs(), m.dmaAddr()));
        } else if (event instanceof DmaEvent.UnmapResource u) {
            debug.accept(new DmaCall.UnmapResource(caller(u), u.dmaAddr(), u.sizeBytes(), u.direction()));
        } else {
            acceptMemory(event);
        }
    }

    private void noteFailure(boolean failed) {
        if (failed) {
            note(CheckNote.FAILED_MAPS);
        }
    }

    private void acceptMemory(DmaEvent event) {
        if (event instanceof DmaEvent.CoherentAlloc a) {
            alloc(a, MappingType.COHERENT, DmaDirection.BIDIRECTIONAL, a.sizeBytes(), a.attrs(), a.dmaAddr());
        } else if (event instanceof DmaEvent.CoherentFree f) {
            free(f);
        } else if (event instanceof DmaEvent.AllocPages a) {
            alloc(a, MappingType.NONCOHERENT, a.direction(), a.sizeBytes(), a.attrs(), a.dmaAddr());
        } else if (event instanceof DmaEvent.FreePages f) {
            debug.accept(new DmaCall.Free(
                    caller(f),
                    MappingType.NONCOHERENT,
                    DmaCall.UNKNOWN_PHYS_ADDR,
                    f.sizeBytes(),
                    f.direction(),
                    f.dmaAddr()));
        } else {
            note(CheckNote.FAILED_MAPS);
        }
    }

    /** The kernel's address is hashed in a trace, so that nothing is known of the memory itself. */
    private void alloc(
            DmaEvent event, MappingType type, DmaDirection direction, long sizeBytes, long attrs, long dmaAddr) {
        boolean failed = dmaAddr == FAILED || dmaAddr == 0;
        noteFailure(failed);
        if (!failed) {
            debug.accept(new DmaCall.Alloc(
                    caller(event), type, DmaCall.UNKNOWN_PHYS_ADDR, sizeBytes, direction, (int) attrs, dmaAddr));
        }
    }

    private void free(DmaEvent.CoherentFree event) {
        if (event.dmaAddr() == 0 && event.sizeBytes() == 0) {
            note(CheckNote.FREES_OF_NOTHING);
            return;
        }
        debug.accept(new DmaCall.Free(
                caller(event),
                MappingType.COHERENT,
                DmaCall.UNKNOWN_PHYS_ADDR,
                event.sizeBytes(),
                DmaDirection.BIDIRECTIONAL,
                event.dmaAddr()));
    }

    private void acceptList(SgEvent event) {
        if (event instanceof SgEvent.MapSg map) {
            mapSg(map);
        } else if (event instanceof SgEvent.UnmapSg unmap) {
            endList(unmap, unmap.direction(), unmap.physAddrs(), Function.identity());
        } else if (event instanceof SgEvent.SyncSg sync) {
            List<Segment> segments = segments(new long[0], sync.dmaAddrs(), sync.lengths(), false);
            debug.accept(new DmaCall.SyncSg(caller(sync), segments, segments.size(), sync.direction(), sync.forCpu()));
        } else if (event instanceof SgEvent.AllocSgt a) {
            long[] addr = {a.dmaAddr()};
            long[] size = {a.sizeBytes()};
            List<Segment> segments = segments(a.physAddrs(), addr, size, false);
            start(a, a.direction(), a.physAddrs(), segments, a.physAddrs().length, 1, a.attrs());
        } else if (event instanceof SgEvent.FreeSgt f) {
            endList(f, f.direction(), f.physAddrs(), segments -> withFirst(segments, f.dmaAddr(), f.sizeBytes()));
        } else {
            note(CheckNote.FAILED_MAPS);
        }
    }

    /** What the driver says at the end counts, not what it was given. */
    private static List<Segment> withFirst(List<Segment> segments, long dmaAddr, long sizeBytes) {
        List<Segment> changed = new ArrayList<>(segments);
        changed.set(0, new Segment(segments.get(0).physAddr(), 0, dmaAddr, sizeBytes));
        return changed;
    }

    private void mapSg(SgEvent.MapSg event) {
        if (event.truncated()) {
            note(CheckNote.CUT_LISTS);
        }
        boolean unmerged = event.fullEnts() == event.fullNents();
        List<Segment> segments = segments(event.physAddrs(), event.dmaAddrs(), event.lengths(), unmerged);
        start(
                event,
                event.direction(),
                event.physAddrs(),
                segments,
                event.fullNents(),
                event.fullEnts(),
                event.attrs());
    }

    private void start(
            SgEvent event,
            DmaDirection direction,
            long[] physAddrs,
            List<Segment> segments,
            int nents,
            int mappedEnts,
            long attrs) {
        lists.add(event.device(), new ListBook.MappedList(direction, nents, physAddrs, segments));
        debug.accept(new DmaCall.MapSg(
                caller(event), segments, nents, mappedEnts, direction, (int) attrs, options.limitsOf(event.device())));
    }

    /** Entry by entry, as in the kernel's list: those beyond the DMA segments have no DMA side. */
    private static List<Segment> segments(long[] physAddrs, long[] dmaAddrs, long[] lengths, boolean unmerged) {
        List<Segment> segments = new ArrayList<>();
        for (int i = 0; i < Math.max(physAddrs.length, dmaAddrs.length); i++) {
            boolean mapped = i < dmaAddrs.length;
            long length = mapped ? lengths[i] : 0;
            segments.add(new Segment(
                    i < physAddrs.length ? physAddrs[i] : DmaCall.UNKNOWN_PHYS_ADDR,
                    unmerged ? length : 0,
                    mapped ? dmaAddrs[i] : FAILED,
                    length));
        }
        return segments;
    }

    private void endList(
            SgEvent event, DmaDirection direction, long[] physAddrs, Function<List<Segment>, List<Segment>> asGiven) {
        ListBook.MappedList list = lists.end(event.device(), direction, physAddrs);
        if (list == null) {
            note(CheckNote.UNKNOWN_LISTS);
            return;
        }
        List<Segment> segments = asGiven.apply(list.first(physAddrs.length));
        debug.accept(new DmaCall.UnmapSg(caller(event), segments, physAddrs.length, direction));
    }

    /** Says that the trace is over. */
    void finish() {
        if (options.leaks()) {
            for (DebugDevice device : devices.values()) {
                Caller end = new Caller(device, -1, last.timeNanos(), null, "the end of the trace");
                debug.accept(new DmaCall.DriverUnbound(end));
            }
        }
    }

    Map<CheckNote, Long> notes() {
        return new EnumMap<>(notes);
    }
}
