package io.pagewalk.dma.debug;

import io.pagewalk.dma.memory.Addresses;

/** What no kernel's dma-debug looks at: {@link DmaDebugProfile#EVERYTHING}. Not thread-safe. */
final class ExtraChecks {
    private final Ledger ledger;
    private final Reporter reporter;

    ExtraChecks(Ledger ledger, Reporter reporter) {
        this.ledger = ledger;
        this.reporter = reporter;
    }

    void play(DmaCall call) {
        if (call instanceof DmaCall.PageFreed freed) {
            pageFreed(freed);
        } else if (call instanceof DmaCall.CpuTouch touch) {
            cpuTouch(touch);
        }
    }

    private void pageFreed(DmaCall.PageFreed call) {
        for (DebugRecord holder : ledger.pages.holders(call.physAddr())) {
            reporter.report(
                    DmaDebugKind.PAGE_FREED_WHILE_MAPPED,
                    call.caller(),
                    null,
                    holder,
                    ReportField.address("page", call.physAddr()),
                    ReportField.address("device address", holder.dmaAddr),
                    ReportField.bytes("size", holder.sizeBytes),
                    ReportField.direction("mapped", holder.direction),
                    ReportField.type("mapped", holder.type));
        }
    }

    /** As for mappings, the first line of each counts. */
    private void cpuTouch(DmaCall.CpuTouch call) {
        if (call.sizeBytes() == 0) {
            return;
        }
        long last = ledger.lines.lineOf(Addresses.last(call.physAddr(), call.sizeBytes()));
        for (long line = ledger.lines.lineOf(call.physAddr()); Addresses.lessOrEqual(line, last); line++) {
            DebugRecord holder = ledger.lines.holderOf(line, null);
            if (holder != null) {
                reporter.report(
                        DmaDebugKind.CPU_TOUCHES_MAPPING,
                        call.caller(),
                        null,
                        holder,
                        ReportField.address("cln", line));
            }
        }
    }
}
