package io.pagewalk.trace.predict;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.trace.DmaEvent;
import io.pagewalk.trace.IommuEvent;
import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceEvent.SwiotlbBounced;
import io.pagewalk.trace.TraceHeader;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Makes the calls of a trace without an IOMMU again: at each bounce line, else at the call's own line. */
final class BounceReplay implements EventTaker {
    /*
     * A slot is taken right behind its swiotlb_bounced line, and a list takes its slots one by one, so each bounce is mapped
     * for itself, when its line comes; the call's own line, which tells the addresses, comes later. Until then bounces wait
     * under their task and context, for no task begins another call in between. A mapping that fails ends its call: if it was
     * a list's, the slots of its earlier entries went back in order at once, without a line, and the list has no line of its
     * own. So whatever waits when a mapping fails is given back, and when the task goes on with something else although the
     * machine did not fail, the recording one did. Formats without the column of flags do not tell an interrupt from the task
     * that it stops, so there nothing that comes in between shows this.
     *
     * A slot is free before the line of dma_unmap_page is written, and after that of dma_unmap_sg, entry by entry.
     */
    private static final int NO_COPY = DmaAttrs.SKIP_CPU_SYNC;

    private final PredictingMachine machine;
    private final boolean hasPool;
    private final Score score;
    private final Omissions omissions;
    private final Map<TaskContext, Attempts> unfinished = new HashMap<>();
    private final Map<String, LiveCalls> live = new HashMap<>();
    private final Map<Call, Placed> placed = new HashMap<>();

    BounceReplay(PredictingMachine machine, boolean hasPool, Score score, Omissions omissions) {
        this.machine = machine;
        this.hasPool = hasPool;
        this.score = score;
        this.omissions = omissions;
    }

    @Override
    public void accept(TraceEvent event) throws MachineFactsException {
        if (event instanceof SwiotlbBounced bounced) {
            bounced(bounced);
        } else if (event instanceof DmaEvent.MapPage map) {
            mapPage(map);
        } else if (event instanceof SgEvent.MapSg map) {
            mapSg(map);
        } else if (event instanceof DmaEvent dma) {
            goesOn(event.header());
            acceptOther(dma);
        } else if (event instanceof IommuEvent.IommuMap) {
            omissions.add(NotJudged.MAP_WITHOUT_IOMMU);
        } else if (event instanceof TraceEvent.LostEvents) {
            omissions.add(NotJudged.LOST_EVENTS);
        }
    }

    private void acceptOther(DmaEvent event) throws MachineFactsException {
        if (event instanceof DmaEvent.UnmapPage unmap) {
            end(unmap.header(), event.device(), unmapped(unmap));
        } else if (event instanceof SgEvent.UnmapSg unmap) {
            end(unmap.header(), event.device(), unmapped(unmap));
        } else if (event instanceof DmaEvent.CoherentAlloc) {
            omissions.add(NotJudged.ALLOC);
        } else if (!isWithoutAddress(event)) {
            omissions.add(NotJudged.OTHER_CALL);
        }
    }

    private static boolean isWithoutAddress(DmaEvent event) {
        return event instanceof DmaEvent.CoherentFree
                || event instanceof DmaEvent.SyncSingle
                || event instanceof SgEvent.SyncSg
                || event instanceof SgEvent.MapSgError;
    }

    private LiveCalls live(String device) {
        return live.computeIfAbsent(device, name -> new LiveCalls());
    }

    private long map(TraceHeader header, String device, long physAddr, long sizeBytes) throws MachineFactsException {
        machine.requireRam(header, physAddr, sizeBytes);
        return machine.dma(device, header).mapPage(physAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, NO_COPY);
    }

    private void unmap(TraceHeader header, String device, long dmaAddr, long sizeBytes) throws MachineFactsException {
        if (dmaAddr != Dma.DMA_MAPPING_ERROR) {
            machine.dma(device, header).unmapPage(dmaAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, NO_COPY);
        }
    }

    // ---- bounces

    private void bounced(SwiotlbBounced event) throws MachineFactsException {
        requirePool(event.header());
        if (event.sizeBytes() == 0) {
            omissions.add(NotJudged.CALL_IS_A_BUG);
            return;
        }
        Attempts attempts = unfinished.computeIfAbsent(TaskContext.of(event.header()), context -> new Attempts());
        Attempts.Attempt attempt = attempts.current();
        if (attempt != null && !attempt.isOf(event.device()) && knowsContext(event.header())) {
            leaveBehind(attempts);
            attempts.clear();
            attempt = null;
        }
        if (attempt == null || attempt.hasFailed() || !attempt.isOf(event.device())) {
            judgeFailed(attempts.limit());
            attempt = attempts.begin();
        }
        machine.learnMask(event.device(), event.dmaMask());
        long dmaAddr = map(event.header(), event.device(), event.devAddr(), event.sizeBytes());
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            giveBack(attempt);
        }
        attempt.add(event, dmaAddr);
    }

    private void requirePool(TraceHeader header) throws MachineFactsException {
        if (!hasPool) {
            throw new MachineFactsException(
                    "line " + header.lineNumber(),
                    "a bounce, and neither boot log nor machine file tell where the pool lies "
                            + "(\"software IO TLB: mapped\"; swiotlb.start and swiotlb.slots)");
        }
    }

    private void giveBack(Attempts.Attempt attempt) throws MachineFactsException {
        for (Attempts.Bounce bounce : attempt.bounces()) {
            SwiotlbBounced event = bounce.event();
            unmap(event.header(), event.device(), bounce.dmaAddr(), event.sizeBytes());
        }
    }

    private static boolean knowsContext(TraceHeader header) {
        return !header.flags().isEmpty();
    }

    private Attempts attemptsOf(TraceHeader header) {
        Attempts attempts = unfinished.get(TaskContext.of(header));
        return attempts == null ? new Attempts() : attempts;
    }

    /** The task does something else than to bounce: what waits were lists that failed, each at its last bounce. */
    private void goesOn(TraceHeader header) throws MachineFactsException {
        if (knowsContext(header)) {
            leaveBehind(unfinished.remove(TaskContext.of(header)));
        }
    }

    private void leaveBehind(@Nullable Attempts attempts) throws MachineFactsException {
        if (attempts != null) {
            for (Attempts.Attempt attempt : attempts.all()) {
                judgeFailed(attempt);
            }
        }
    }

    private void judgeFailed(Attempts.@Nullable Attempt attempt) throws MachineFactsException {
        if (attempt == null || attempt.bounces().isEmpty()) {
            return;
        }
        Attempts.Bounce last = attempt.last();
        omissions.add(NotJudged.BOUNCE_OF_FAILED_LIST, attempt.bounces().size() - 1L);
        SwiotlbBounced event = last.event();
        score.judge(AddressKind.FAILED_LIST, event.header(), event.device(), Dma.DMA_MAPPING_ERROR, last.dmaAddr());
        if (!attempt.hasFailed()) {
            giveBack(attempt);
        }
    }

    // ---- maps

    private void mapPage(DmaEvent.MapPage event) throws MachineFactsException {
        TraceHeader header = event.header();
        Attempts.Bounce bounce = attemptsOf(header).takeLast(event.device(), event.physAddr(), event.sizeBytes());
        goesOn(header);
        if (bounce == null && Call.isBug(event.direction(), event.sizeBytes())) {
            omissions.add(NotJudged.CALL_IS_A_BUG);
            return;
        }
        long predicted =
                bounce != null ? bounce.dmaAddr() : map(header, event.device(), event.physAddr(), event.sizeBytes());
        boolean failed = event.dmaAddr() == Dma.DMA_MAPPING_ERROR;
        AddressKind kind = failed ? AddressKind.FAILED_PAGE : AddressKind.PAGE;
        score.judge(kind, header, event.device(), event.dmaAddr(), predicted);
        if (failed) {
            unmap(header, event.device(), predicted, event.sizeBytes());
        } else {
            begin(Call.page(event), Placed.page(predicted, event.sizeBytes()));
        }
    }

    private void mapSg(SgEvent.MapSg event) throws MachineFactsException {
        Attempts.Claim claim = attemptsOf(event.header()).claim(event);
        goesOn(event.header());
        int entries = event.physAddrs().length;
        if (entries == 0 || event.dmaAddrs().length != entries) {
            omissions.add(entries == 0 || event.truncated() ? NotJudged.TRUNCATED : NotJudged.MERGED_LIST);
            return;
        }
        if (Call.isBug(event.direction(), event.lengths())) {
            omissions.add(NotJudged.CALL_IS_A_BUG);
            return;
        }
        omissions.add(NotJudged.TRUNCATED, event.truncated() ? (long) event.fullNents() - entries : 0);
        long[] addrs = claim.addrs();
        long[] sizes = claim.sizes();
        for (int i = 0; i < entries; i++) {
            if (!claim.has(i)) {
                sizes[i] = event.lengths()[i];
                addrs[i] = map(event.header(), event.device(), event.physAddrs()[i], sizes[i]);
            }
            score.judge(AddressKind.SEGMENT, event.header(), event.device(), event.dmaAddrs()[i], addrs[i]);
        }
        begin(Call.list(event, AddressKind.SEGMENT, sizes), Placed.entries(addrs, sizes));
    }

    private void begin(Call call, Placed where) {
        live(call.device).add(call);
        placed.put(call, where);
    }

    // ---- unmaps

    private @Nullable Call unmapped(DmaEvent.UnmapPage event) {
        return live(event.device()).page(event.dmaAddr(), event.sizeBytes(), event.direction());
    }

    private @Nullable Call unmapped(SgEvent.UnmapSg event) {
        return event.physAddrs().length == 0 ? null : live(event.device()).list(event.direction(), event.physAddrs());
    }

    private void end(TraceHeader header, String device, @Nullable Call call) throws MachineFactsException {
        if (call == null) {
            omissions.add(NotJudged.UNMAP_WITHOUT_MAP);
            return;
        }
        live(device).remove(call);
        Placed where = placed.remove(call);
        for (int i = 0; where != null && i < where.dmaAddrs.length; i++) {
            unmap(header, device, where.dmaAddrs[i], where.sizes[i]);
        }
    }

    /** What waits may be a call that the end of the trace cuts. */
    @Override
    public void finish() {
        unfinished.clear();
    }
}
