package io.pagewalk.dma.debug;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is looked at when memory is unmapped or freed.
 *
 * <p>Implements dma-core:DBG-31, DBG-40 to DBG-49, DBG-70. Not thread-safe.
 */
final class UnmapChecks {
    static final long MAPPING_ERROR = -1L;

    private final Ledger ledger;
    private final Reporter reporter;
    private final MapChecks mapChecks;
    private boolean incomplete;

    UnmapChecks(Ledger ledger, Reporter reporter, MapChecks mapChecks) {
        this.ledger = ledger;
        this.reporter = reporter;
        this.mapChecks = mapChecks;
    }

    /** From now on what is not known is not reported: the input has a gap. */
    void knowNotAll() {
        incomplete = true;
    }

    boolean knowsAll() {
        return !incomplete;
    }

    /** The ladder (DBG-40 to DBG-48): a record that was found goes, whatever does not agree. */
    void unmap(Caller caller, DebugRef ref) {
        DebugRecord record = ledger.table.exact(ref);
        if (record == null) {
            missing(caller, ref);
            return;
        }
        checkSize(caller, ref, record);
        checkType(caller, ref, record);
        checkEntries(caller, ref, record);
        checkDirection(caller, ref, record);
        checkAsked(caller, ref, record);
        ledger.remove(record, caller);
    }

    /** Asking for the error marks a mapping that could not be told from others (DBG-48). */
    private void missing(Caller caller, DebugRef ref) {
        mapChecks.mappingError(ref.device(), ref.dmaAddr());
        if (ref.dmaAddr() == MAPPING_ERROR) {
            reporter.reportMissing(DmaDebugKind.INVALID_ADDRESS, caller, ref);
        } else if (!incomplete) {
            reporter.reportMissing(
                    DmaDebugKind.NOT_ALLOCATED, caller, ref, address(ref), ReportField.bytes("size", ref.sizeBytes()));
        }
    }

    private static ReportField address(DebugRef ref) {
        return ReportField.address("device address", ref.dmaAddr());
    }

    private void checkSize(Caller caller, DebugRef ref, DebugRecord record) {
        if (ref.sizeBytes() != record.sizeBytes) {
            reporter.report(
                    DmaDebugKind.DIFFERENT_SIZE,
                    caller,
                    ref,
                    record,
                    address(ref),
                    ReportField.bytes("map size", record.sizeBytes),
                    ReportField.bytes("unmap size", ref.sizeBytes()));
        }
    }

    private void checkType(Caller caller, DebugRef ref, DebugRecord record) {
        if (ref.type() != record.type) {
            reporter.report(
                    DmaDebugKind.WRONG_FUNCTION,
                    caller,
                    ref,
                    record,
                    address(ref),
                    ReportField.bytes("size", ref.sizeBytes()),
                    ReportField.type("mapped", record.type),
                    ReportField.type("unmapped", ref.type()));
        } else if (isAllocation(ref.type()) && differsInPhys(ref, record)) {
            reporter.report(
                    DmaDebugKind.DIFFERENT_CPU_ADDRESS,
                    caller,
                    ref,
                    record,
                    address(ref),
                    ReportField.bytes("size", ref.sizeBytes()),
                    ReportField.doubledAddress("cpu alloc address", record.physAddr),
                    ReportField.doubledAddress("cpu free address", ref.physAddr()));
        }
    }

    private static boolean isAllocation(MappingType type) {
        return type == MappingType.COHERENT || type == MappingType.NONCOHERENT;
    }

    private static boolean differsInPhys(DebugRef ref, DebugRecord record) {
        return ref.physAddr() != record.physAddr
                && ref.physAddr() != DmaCall.UNKNOWN_PHYS_ADDR
                && record.physAddr != DmaCall.UNKNOWN_PHYS_ADDR;
    }

    private void checkEntries(Caller caller, DebugRef ref, DebugRecord record) {
        if (ref.callEnts() != 0 && ref.type() == MappingType.SCATTER_GATHER && ref.callEnts() != record.callEnts) {
            reporter.report(
                    DmaDebugKind.DIFFERENT_ENTRY_COUNT,
                    caller,
                    ref,
                    record,
                    ReportField.count("map count", record.callEnts),
                    ReportField.count("unmap count", ref.callEnts()));
        }
    }

    private void checkDirection(Caller caller, DebugRef ref, DebugRecord record) {
        if (ref.direction() != record.direction) {
            reporter.report(
                    DmaDebugKind.DIFFERENT_DIRECTION,
                    caller,
                    ref,
                    record,
                    address(ref),
                    ReportField.bytes("size", ref.sizeBytes()),
                    ReportField.direction("mapped", record.direction),
                    ReportField.direction("unmapped", ref.direction()));
        }
    }

    private void checkAsked(Caller caller, DebugRef ref, DebugRecord record) {
        if (record.errorCheck == ErrorCheck.NOT_CHECKED) {
            reporter.report(
                    DmaDebugKind.MAP_ERROR_NOT_CHECKED,
                    caller,
                    ref,
                    record,
                    address(ref),
                    ReportField.bytes("size", ref.sizeBytes()),
                    ReportField.type("mapped", record.type));
        }
    }

    /** Each entry is looked up by what it shows now, up to the DMA segments that the first one tells of (DBG-49). */
    void unmapSg(DmaCall.UnmapSg call) {
        List<Segment> known = call.segments();
        int mappedEnts = 0;
        for (int i = 0; i < Math.min(call.nents(), known.size()); i++) {
            if (mappedEnts != 0 && i >= mappedEnts) {
                return;
            }
            DebugRef ref = DebugRef.sg(call.caller(), known.get(i), call.direction(), call.nents());
            if (i == 0) {
                mappedEnts = mappedEnts(ref);
            }
            unmap(call.caller(), ref);
        }
    }

    int mappedEnts(DebugRef ref) {
        DebugRecord record = ledger.table.exact(ref);
        return record == null ? 0 : record.mappedEnts;
    }

    /** One report for all that is left, with the last of them as the hash has it (DBG-70). */
    void unbound(Caller caller) {
        Leaks leaks = new Leaks(caller.device());
        ledger.table.forEach(leaks::look);
        DebugRecord last = leaks.last;
        if (last != null) {
            reporter.report(
                    DmaDebugKind.LEAK,
                    caller,
                    null,
                    last,
                    ReportField.count("count", leaks.count),
                    ReportField.address("device address", last.dmaAddr),
                    ReportField.bytes("size", last.sizeBytes),
                    ReportField.direction("mapped", last.direction),
                    ReportField.type("mapped", last.type));
        }
    }

    private static final class Leaks {
        private final @Nullable DebugDevice device;
        private long count;
        private @Nullable DebugRecord last;

        private Leaks(@Nullable DebugDevice device) {
            this.device = device;
        }

        private void look(DebugRecord record) {
            if (Objects.equals(record.device, device)) {
                count++;
                last = record;
            }
        }
    }
}
