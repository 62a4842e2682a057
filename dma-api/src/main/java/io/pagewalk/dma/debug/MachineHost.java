package io.pagewalk.dma.debug;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import org.jspecify.annotations.Nullable;

/** A machine as dma-debug's surroundings: its log, its failure points, its kernel's layout. Thread-safe. */
final class MachineHost implements DmaDebugHost {
    private static final String SITE = "dma_debug";

    private final Machine machine;
    private final KernelLog log;
    private final KernelAreas areas;
    private final FailurePoint entries;
    private final FailurePoint cachelines;
    private final boolean bouncesKmalloc;

    MachineHost(Machine machine, DmaDebugOptions options) {
        this.machine = machine;
        this.log = machine.log();
        this.areas = new KernelAreas(machine.layout(), machine.ram(), options.kernelImage(), machine.cpus());
        this.entries = machine.failures().point("dma_debug.entries");
        this.cachelines = machine.failures().point("dma_debug.cacheline");
        this.bouncesKmalloc = machine.kernelConfig().arch().bouncesUnalignedKmalloc();
    }

    @Override
    public boolean hasNoMemory(Need need) {
        return (need == Need.ENTRIES ? entries : cachelines).fails();
    }

    @Override
    public void message(String text) {
        log.message(SITE, text);
    }

    /** What the kernel prints it prints with a stack: a WARN. */
    @Override
    public void report(DmaDebugReport report) {
        if (report.shown()) {
            log.warn(SITE + ": " + report.kind(), report.line());
        }
    }

    @Override
    public KernelAreas areas() {
        return areas;
    }

    @Override
    public boolean bouncesSharedLines(@Nullable DebugDevice device) {
        Device found = device == null ? null : machine.device(device.name());
        return bouncesKmalloc && found != null && found.isSwiotlbActive();
    }
}
