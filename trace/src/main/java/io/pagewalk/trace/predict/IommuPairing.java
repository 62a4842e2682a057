package io.pagewalk.trace.predict;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.trace.DmaEvent;
import io.pagewalk.trace.IommuEvent;
import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceHeader;
import io.pagewalk.trace.workload.PieceRun;
import io.pagewalk.trace.workload.SgLengths;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Finds out of the lines of a trace with an IOMMU when each call took its address and gave it back. */
final class IommuPairing implements EventTaker {
    /*
     * The kernel writes a call's own line, which names the device, at another moment than that at which addresses change hands.
     * An address is taken before the first `map` line of its range, and given back behind its one `unmap` line; neither names a
     * device. Lines are joined by who writes them (task and context), for nobody begins a call inside another of his own:
     *
     *     map ... map, dma_map_page | dma_map_sg | dma_alloc     the lines before it that cover its range
     *     unmap, dma_unmap_page                                  the line before it with its page
     *     dma_unmap_sg | dma_free, unmap                         the line behind it; a list names no DMA address, so of the
     *                                                            live lists alike it is the one that starts there
     *
     * Each map and unmap line keeps a place in line order until its call is known. A call without such lines (only dma events
     * were recorded) is taken at its own line.
     */
    private static final int MOST_WRITERS = 4096;

    private final MomentQueue queue;
    private final Omissions omissions;
    private final Map<TaskContext, Writer> writers = new LinkedHashMap<>(64, 0.75f, true);
    private final Map<String, LiveCalls> live = new HashMap<>();
    private final PieceRun run = new PieceRun();

    IommuPairing(MomentSink sink, Omissions omissions) {
        this.queue = new MomentQueue(sink);
        this.omissions = omissions;
    }

    @Override
    public void accept(TraceEvent event) throws IOException {
        if (event instanceof TraceEvent.LostEvents) {
            omissions.add(NotJudged.LOST_EVENTS);
            return;
        }
        Writer writer = writer(event.header());
        if (event instanceof IommuEvent.IommuMap map) {
            Moment moment = place(map.header(), true);
            writer.addPiece(map, moment);
        } else if (event instanceof IommuEvent.IommuUnmap unmap) {
            unmap(unmap, writer);
        } else {
            endWithoutUnmap(writer);
            acceptOther(event, writer);
        }
        writer.wrote(event.header());
        queue.flush();
    }

    private void acceptOther(TraceEvent event, Writer writer) {
        if (event instanceof DmaEvent.MapPage map) {
            mapPage(map, writer);
        } else if (event instanceof SgEvent.MapSg map) {
            mapSg(map, writer);
        } else if (event instanceof DmaEvent.CoherentAlloc alloc) {
            alloc(alloc, writer);
        } else if (event instanceof DmaEvent.UnmapPage unmap) {
            unmapPage(unmap, writer);
        } else if (event instanceof SgEvent.UnmapSg unmap) {
            unmapSg(unmap, writer);
        } else if (event instanceof DmaEvent.CoherentFree free) {
            free(free, writer);
        } else if (event instanceof DmaEvent dma && !isSync(dma)) {
            omissions.add(NotJudged.OTHER_CALL);
        }
        if (!event.header().flags().isEmpty()) {
            omissions.add(NotJudged.MAP_WITHOUT_CALL, writer.dropOpen());
        }
    }

    private static boolean isSync(DmaEvent event) {
        return event instanceof DmaEvent.SyncSingle
                || event instanceof SgEvent.SyncSg
                || event instanceof SgEvent.MapSgError;
    }

    private Writer writer(TraceHeader header) {
        TaskContext context = TaskContext.of(header);
        Writer known = writers.get(context);
        if (known != null) {
            return known;
        }
        if (writers.size() == MOST_WRITERS) {
            var eldest = writers.entrySet().iterator();
            omissions.add(NotJudged.MAP_WITHOUT_CALL, eldest.next().getValue().dropOpen());
            eldest.remove();
        }
        Writer writer = new Writer();
        writers.put(context, writer);
        return writer;
    }

    private Moment place(TraceHeader header, boolean takes) {
        Moment moment = new Moment(header, takes);
        queue.add(moment);
        return moment;
    }

    private LiveCalls live(String device) {
        return live.computeIfAbsent(device, name -> new LiveCalls());
    }

    private static long page(long dmaAddr) {
        return dmaAddr & Addresses.PAGE_MASK;
    }

    // ---- maps

    private void mapPage(DmaEvent.MapPage event, Writer writer) {
        if (Call.isBug(event.direction(), event.sizeBytes())) {
            omissions.add(NotJudged.CALL_IS_A_BUG);
            return;
        }
        Call call = Call.page(event);
        if (call.kind == AddressKind.FAILED_PAGE) {
            place(event.header(), true).belongsTo(call);
        } else {
            begin(call, claim(event.dmaAddr(), event.sizeBytes(), writer));
        }
    }

    private void mapSg(SgEvent.MapSg event, Writer writer) {
        int last = event.dmaAddrs().length - 1;
        if (last < 0 || event.physAddrs().length == 0) {
            omissions.add(NotJudged.TRUNCATED);
            return;
        }
        if (Call.isBug(event.direction(), event.lengths())) {
            omissions.add(NotJudged.CALL_IS_A_BUG);
            return;
        }
        long first = event.dmaAddrs()[0];
        long span = event.dmaAddrs()[last] + event.lengths()[last] - first;
        Writer.Taken taken = claim(first, span, writer);
        long[] lengths = event.truncated() || taken == null ? null : SgLengths.rebuild(event, run);
        begin(Call.list(event, AddressKind.LIST, lengths == null ? new long[0] : lengths), taken);
    }

    private void alloc(DmaEvent.CoherentAlloc event, Writer writer) {
        if (event.dmaAddr() == Dma.DMA_MAPPING_ERROR || event.dmaAddr() == 0) {
            omissions.add(NotJudged.OTHER_CALL);
        } else if (event.sizeBytes() == 0) {
            omissions.add(NotJudged.CALL_IS_A_BUG);
        } else {
            begin(Call.coherent(event), claim(event.dmaAddr(), event.sizeBytes(), writer));
        }
    }

    private Writer.@Nullable Taken claim(long dmaAddr, long sizeBytes, Writer writer) {
        Writer.Taken taken = writer.claim(page(dmaAddr), (dmaAddr + sizeBytes - 1) | ~Addresses.PAGE_MASK, run);
        if (taken == null) {
            omissions.add(NotJudged.CALL_WITHOUT_MAP);
        }
        return taken;
    }

    private void begin(Call call, Writer.@Nullable Taken taken) {
        Moment moment = taken == null ? place(call.header, true) : taken.moment();
        call.previousLine = taken == null ? call.header.lineNumber() : taken.previousLine();
        moment.belongsTo(call);
        live(call.device).add(call);
    }

    // ---- unmaps

    private void unmap(IommuEvent.IommuUnmap event, Writer writer) {
        Moment moment = place(event.header(), false);
        Writer.Ending ending = writer.ending();
        Call call = ending == null ? null : ending.candidate().apply(event.iova());
        if (ending == null || call == null) {
            writer.addUnmap(event.iova(), moment);
        } else {
            ending.moment().drop();
            writer.ends(null);
            end(call, moment);
        }
    }

    private void unmapPage(DmaEvent.UnmapPage event, Writer writer) {
        Call call = live(event.device()).page(event.dmaAddr(), event.sizeBytes(), event.direction());
        Moment moment = writer.takeUnmap(page(event.dmaAddr()));
        if (call == null) {
            omissions.add(NotJudged.UNMAP_WITHOUT_MAP);
            if (moment != null) {
                moment.drop();
            }
        } else {
            end(call, moment == null ? place(event.header(), false) : moment);
        }
    }

    private void unmapSg(SgEvent.UnmapSg event, Writer writer) {
        long[] physAddrs = event.physAddrs();
        LiveCalls calls = live(event.device());
        if (physAddrs.length == 0 || calls.list(event.direction(), physAddrs) == null) {
            omissions.add(NotJudged.UNMAP_WITHOUT_MAP);
            return;
        }
        writer.ends(new Writer.Ending(
                place(event.header(), false),
                iova -> iova == Writer.ANYWHERE
                        ? calls.list(event.direction(), physAddrs)
                        : calls.listAt(event.direction(), physAddrs, iova)));
    }

    private void free(DmaEvent.CoherentFree event, Writer writer) {
        if (event.dmaAddr() == 0 && event.sizeBytes() == 0) {
            return; // A free of NULL: the event is written before the kernel's check for it.
        }
        Call call = live(event.device()).coherent(event.dmaAddr(), event.sizeBytes());
        if (call == null) {
            omissions.add(NotJudged.UNMAP_WITHOUT_MAP);
            return;
        }
        writer.ends(new Writer.Ending(
                place(event.header(), false),
                iova -> iova == Writer.ANYWHERE || iova == page(event.dmaAddr()) ? call : null));
    }

    /** Its writer goes on, so no unmap line will come. */
    private void endWithoutUnmap(Writer writer) {
        Writer.Ending ending = writer.ending();
        if (ending != null) {
            writer.ends(null);
            Call call = ending.candidate().apply(Writer.ANYWHERE);
            if (call == null) {
                ending.moment().drop();
            } else {
                end(call, ending.moment());
            }
        }
    }

    private void end(Call call, Moment moment) {
        moment.belongsTo(call);
        live(call.device).remove(call);
    }

    @Override
    public void finish() throws IOException {
        writers.values().forEach(this::endWithoutUnmap);
        queue.finish();
    }
}
