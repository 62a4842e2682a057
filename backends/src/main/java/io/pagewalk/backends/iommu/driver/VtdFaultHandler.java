package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.unit.RegisterFile;
import io.pagewalk.backends.iommu.unit.VtdCapability;
import io.pagewalk.backends.iommu.unit.VtdFaultReason;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.dma.KernelLog;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The driver's answer to a fault interrupt: reads the records, frees them, logs them at a limited rate and passes them
 * on. Implements iommu:FLT-3.
 *
 * <p>One thread handles at a time, and takes what others were interrupted for meanwhile; whoever is told may cause
 * faults. Nothing is allocated beyond the rate. Thread-safe.
 */
final class VtdFaultHandler {
    private static final int RECORD_BYTES = 16;
    private static final int TOP_HALF = 12;
    private static final int FAULT = 1 << 31;
    private static final long TYPE_READ = 1L << 62;
    private static final int PRO = 1 << 7;
    private static final int ALL_STATUS = VtdRegisters.FSTS_PFO | VtdRegisters.FSTS_PPF | PRO;

    private final RegisterFile registers;
    private final KernelLog.Site site;
    private final int firstRecord;
    private final int records;
    private final AtomicBoolean handling = new AtomicBoolean();
    private volatile FaultReports reports = (requesterId, pageIova, write, reason) -> {};

    VtdFaultHandler(RegisterFile registers, KernelLog log) {
        this.registers = registers;
        this.site = log.site("dmar_fault");
        long cap = registers.read64(VtdRegisters.CAP);
        this.firstRecord = VtdCapability.faultRecordOffset(cap);
        this.records = VtdCapability.faultRecords(cap);
    }

    void passTo(FaultReports newReports) {
        reports = newReports;
    }

    /** Handles what is pending, and what comes to be pending until it is done. */
    void handle() {
        int status = registers.read32(VtdRegisters.FSTS);
        while ((status & VtdRegisters.FSTS_PPF) != 0 && handling.compareAndSet(false, true)) {
            try {
                drain(status);
            } finally {
                handling.set(false);
            }
            status = registers.read32(VtdRegisters.FSTS);
        }
    }

    private void drain(int status) {
        boolean logs = site.isWithinRate();
        if (logs) {
            site.message("DRHD: handling fault status reg " + Integer.toHexString(status));
        }
        int record = status >>> 8 & 0xff;
        while (takeRecord(record, logs)) {
            record = (record + 1) % records;
        }
        registers.write32(VtdRegisters.FSTS, ALL_STATUS);
    }

    private boolean takeRecord(int record, boolean logs) {
        int at = firstRecord + RECORD_BYTES * record;
        if ((registers.read32(at + TOP_HALF) & FAULT) == 0) {
            return false;
        }
        long high = registers.read64(at + Long.BYTES);
        long pageIova = registers.read64(at);
        registers.write32(at + TOP_HALF, FAULT);
        int requesterId = (int) high & 0xffff;
        int reason = (int) (high >>> 32) & 0xff;
        boolean write = (high & TYPE_READ) == 0;
        if (logs) {
            site.message(text(requesterId, pageIova, write, reason));
        }
        reports.reported(requesterId, pageIova, write, reason);
        return true;
    }

    private static String text(int requesterId, long pageIova, boolean write, int reason) {
        return String.format(
                "[DMA %s NO_PASID] Request device [%02x:%02x.%d] fault addr 0x%x [fault reason 0x%02x] %s",
                write ? "Write" : "Read",
                requesterId >>> 8,
                requesterId >>> 3 & 0x1f,
                requesterId & 7,
                pageIova,
                reason,
                VtdFaultReason.text(reason));
    }
}
