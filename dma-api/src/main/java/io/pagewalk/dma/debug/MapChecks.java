package io.pagewalk.dma.debug;

import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is looked at when memory is mapped.
 *
 * <p>Implements dma-core:DBG-10 to DBG-17, DBG-25. Not thread-safe.
 */
final class MapChecks {
    private final Ledger ledger;
    private final Reporter reporter;
    private final DmaDebugHost host;
    private final ErrorCheck unasked;
    private final boolean segments;
    private final boolean extras;

    MapChecks(DmaDebugOptions options, Ledger ledger, Reporter reporter, DmaDebugHost host) {
        this.ledger = ledger;
        this.reporter = reporter;
        this.host = host;
        this.unasked = options.mapErrors() ? ErrorCheck.NOT_CHECKED : ErrorCheck.NOT_APPLICABLE;
        this.segments = options.segments();
        this.extras = options.profile().checksExtras();
    }

    /** Two reports that have nothing to do with each other (DBG-10). */
    void pointer(DmaCall.MapPointer call) {
        @Nullable KernelAreas areas = host.areas();
        if (areas == null) {
            return;
        }
        if (!areas.isLinear(call.virtAddr())) {
            reportArea(DmaDebugKind.INVALID_AREA, call.caller(), call.virtAddr(), call.sizeBytes());
        }
        if (areas.isVmalloc(call.virtAddr())) {
            reportArea(DmaDebugKind.VMALLOC_AREA, call.caller(), call.virtAddr(), call.sizeBytes());
        }
    }

    private void reportArea(DmaDebugKind kind, Caller caller, long virtAddr, long sizeBytes) {
        reporter.report(kind, caller, ReportField.address("addr", virtAddr), ReportField.count("len", sizeBytes));
    }

    /** The one that an address is asked for may be an older mapping's (DBG-11, DBG-30). */
    void page(DmaCall.MapPage call) {
        mappingError(call.caller().device(), call.dmaAddr());
        if (call.dmaAddr() == UnmapChecks.MAPPING_ERROR || !ledger.reserve()) {
            return;
        }
        memory(call.caller(), call.physAddr(), call.sizeBytes());
        DebugRef ref = DebugRef.single(
                call.caller(), MappingType.SINGLE, call.dmaAddr(), call.sizeBytes(), call.direction(), call.physAddr());
        DebugRecord record = DebugRecord.of(ref, unasked, call.caller());
        ledger.add(record, call.attrs());
        if (extras) {
            ledger.pages.hold(record, call.physAddr(), call.sizeBytes());
        }
    }

    /** Even a failure is recorded (DBG-13). */
    void resource(DmaCall.MapResource call) {
        if (!ledger.reserve()) {
            return;
        }
        DebugRef ref = DebugRef.single(
                call.caller(),
                MappingType.RESOURCE,
                call.dmaAddr(),
                call.sizeBytes(),
                call.direction(),
                call.physAddr());
        ledger.add(DebugRecord.of(ref, unasked, call.caller()), call.attrs());
    }

    void alloc(DmaCall.Alloc call) {
        if (!ledger.reserve()) {
            return;
        }
        DebugRef ref = DebugRef.single(
                call.caller(), call.type(), call.dmaAddr(), call.sizeBytes(), call.direction(), call.physAddr());
        ledger.add(DebugRecord.of(ref, ErrorCheck.NOT_APPLICABLE, call.caller()), call.attrs());
    }

    /** All entries are looked at first, then the DMA segments are recorded (DBG-12). */
    void sg(DmaCall.MapSg call) {
        List<Segment> known = call.segments();
        for (Segment segment : known.subList(0, Math.min(call.nents(), known.size()))) {
            memory(call.caller(), segment.physAddr(), segment.lengthBytes());
        }
        DebugRecord first = null;
        for (Segment segment : known.subList(0, Math.min(call.mappedEnts(), known.size()))) {
            if (!ledger.reserve()) {
                return;
            }
            checkSegment(call, segment);
            DebugRef ref = DebugRef.sg(call.caller(), segment, call.direction(), call.nents());
            DebugRecord record = DebugRecord.ofSegment(ref, call.mappedEnts(), call.caller());
            ledger.add(record, call.attrs());
            first = first == null ? record : first;
        }
        if (extras && first != null) {
            hold(first, known);
        }
    }

    private void hold(DebugRecord first, List<Segment> entries) {
        entries.forEach(s -> ledger.pages.hold(first, s.physAddr(), s.lengthBytes()));
    }

    private void checkSegment(DmaCall.MapSg call, Segment segment) {
        SegmentLimits limits = call.limits();
        if (limits == null || !segments) {
            return;
        }
        if (Addresses.lessThan(limits.maxBytes(), segment.lengthBytes())) {
            reporter.report(
                    DmaDebugKind.SEGMENT_TOO_LONG,
                    call.caller(),
                    ReportField.count("len", segment.lengthBytes()),
                    ReportField.count("max", limits.maxBytes()));
        }
        long start = segment.dmaAddr();
        long end = start + segment.dmaLengthBytes() - 1;
        if (((start ^ end) & ~limits.boundaryMask()) != 0) {
            reporter.report(
                    DmaDebugKind.SEGMENT_ACROSS_BOUNDARY,
                    call.caller(),
                    ReportField.address("start", start),
                    ReportField.address("end", end),
                    ReportField.address("boundary", limits.boundaryMask()));
        }
    }

    /** The stack first, then text (DBG-16, DBG-17). */
    private void memory(Caller caller, long physAddr, long sizeBytes) {
        KernelAreas areas = host.areas();
        if (areas == null) {
            return;
        }
        KernelStack stack = areas.stackOf(caller.cpu());
        long onStack = stack == null ? KernelAreas.NOT_THERE : areas.onStack(stack, physAddr);
        if (stack != null && onStack != KernelAreas.NOT_THERE) {
            String label = stack.isVmapped() ? "probable addr" : "addr";
            reporter.report(DmaDebugKind.STACK, caller, ReportField.address(label, onStack));
        }
        if (areas.isImage(physAddr, sizeBytes)) {
            reportArea(DmaDebugKind.KERNEL_TEXT, caller, areas.linearAddr(physAddr), sizeBytes);
        }
    }

    /** Marks one mapping only, the oldest (DBG-30). */
    void mappingError(@Nullable DebugDevice device, long dmaAddr) {
        DebugRecord unchecked = ledger.table.unchecked(device, dmaAddr);
        if (unchecked != null) {
            unchecked.errorCheck = ErrorCheck.CHECKED;
        }
    }
}
