package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;
import java.util.List;

/**
 * What is looked at when memory is synced.
 *
 * <p>Implements dma-core:DBG-60 to DBG-67. Not thread-safe.
 */
final class SyncChecks {
    private final Ledger ledger;
    private final Reporter reporter;
    private final UnmapChecks unmapChecks;

    SyncChecks(Ledger ledger, Reporter reporter, UnmapChecks unmapChecks) {
        this.ledger = ledger;
        this.reporter = reporter;
        this.unmapChecks = unmapChecks;
    }

    /** A mapping in both directions may be synced in any (DBG-61). */
    void sync(Caller caller, DebugRef ref, boolean forCpu) {
        DebugRecord record = ledger.table.containing(ref);
        if (record == null) {
            missing(caller, ref);
        } else if (record.direction != DmaDirection.BIDIRECTIONAL) {
            checkDirections(caller, ref, record, forCpu);
            checkEntries(caller, ref, record);
        }
    }

    private void missing(Caller caller, DebugRef ref) {
        if (unmapChecks.knowsAll()) {
            reporter.reportMissing(
                    DmaDebugKind.SYNC_NOT_ALLOCATED,
                    caller,
                    ref,
                    ReportField.address("device address", ref.dmaAddr()),
                    ReportField.bytes("size", ref.sizeBytes()));
        }
    }

    private void checkDirections(Caller caller, DebugRef ref, DebugRecord record, boolean forCpu) {
        if (ref.direction() != record.direction) {
            report(DmaDebugKind.SYNC_DIFFERENT_DIRECTION, caller, ref, record);
        }
        if (forCpu && record.direction != DmaDirection.FROM_DEVICE && ref.direction() != DmaDirection.TO_DEVICE) {
            report(DmaDebugKind.SYNC_READ_ONLY, caller, ref, record);
        }
        if (!forCpu && record.direction != DmaDirection.TO_DEVICE && ref.direction() != DmaDirection.FROM_DEVICE) {
            report(DmaDebugKind.SYNC_WRITE_ONLY, caller, ref, record);
        }
    }

    /** The size is the mapping's, not that of the part (DBG-62). */
    private void report(DmaDebugKind kind, Caller caller, DebugRef ref, DebugRecord record) {
        reporter.report(
                kind,
                caller,
                ref,
                record,
                ReportField.address("device address", ref.dmaAddr()),
                ReportField.bytes("size", record.sizeBytes),
                ReportField.direction("mapped", record.direction),
                ReportField.direction("synced", ref.direction()));
    }

    private void checkEntries(Caller caller, DebugRef ref, DebugRecord record) {
        if (ref.type() == MappingType.SCATTER_GATHER && ref.callEnts() != 0 && ref.callEnts() != record.callEnts) {
            reporter.report(
                    DmaDebugKind.SYNC_DIFFERENT_ENTRY_COUNT,
                    caller,
                    ref,
                    record,
                    ReportField.count("map count", record.callEnts),
                    ReportField.count("sync count", ref.callEnts()));
        }
    }

    /** A list that was never mapped is synced without a word (DBG-67). */
    void syncSg(DmaCall.SyncSg call) {
        List<Segment> known = call.segments();
        int mappedEnts = 0;
        for (int i = 0; i < Math.min(call.nents(), known.size()); i++) {
            DebugRef ref = DebugRef.sg(call.caller(), known.get(i), call.direction(), call.nents());
            if (i == 0) {
                mappedEnts = unmapChecks.mappedEnts(ref);
            }
            if (i >= mappedEnts) {
                return;
            }
            sync(call.caller(), ref, call.forCpu());
        }
    }
}
