package io.pagewalk.trace.replay;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.trace.workload.Operation;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One backend's part in a replay: its machine, its devices, its counts. */
final class BackendRun implements AutoCloseable {
    private static final int SAMPLE_BYTES = 8;
    private static final int MOST_VIOLATIONS = 20;

    private static final class DeviceRun {
        private final Device device;
        private final TallyCounter tally = new TallyCounter();
        private long stillLive;
        private long allocsStillLive;

        private DeviceRun(Device device) {
            this.device = device;
        }

        private Device device() {
            return device;
        }

        private TallyCounter tally() {
            return tally;
        }

        private Tally snapshot() {
            return tally.snapshot(stillLive, allocsStillLive);
        }
    }

    private final int index;
    private final String name;
    private final String summary;
    private final Machine machine;
    private final DataMover mover;
    private final CoherentCheck coherent;
    private final Findings findings = new Findings();
    private final Findings staleReads = new Findings();
    private final FailureBook failures = new FailureBook();
    private final MappingCalls calls;
    private final List<DeviceRun> devices = new ArrayList<>();
    private final byte[] sample = new byte[SAMPLE_BYTES];

    BackendRun(int index, String name, String summary, Machine machine, Touch touch, boolean timing) {
        this.index = index;
        this.name = name;
        this.summary = summary;
        this.machine = machine;
        this.mover = new DataMover(machine, new TouchWalk(touch), findings);
        this.coherent = new CoherentCheck(findings);
        this.calls = new MappingCalls(index, timing);
    }

    Machine machine() {
        return machine;
    }

    void addDevice(DeviceConfig config) {
        devices.add(new DeviceRun(machine.addDevice(config)));
    }

    void setMask(int device, long mask) {
        devices.get(device).device().setMaskAndCoherent(mask);
    }

    void advanceTo(long timeNanos) {
        machine.clock().advanceTo(timeNanos);
    }

    // ---- maps

    void map(LiveMapping live, int cpu) {
        DeviceRun run = devices.get(live.device);
        TallyCounter tally = run.tally();
        tally.mapsTried++;
        if (live.map.failedWhenRecorded()) {
            tally.recordedFailuresTried++;
        }
        DmaDirection direction = live.map.direction();
        if (direction.deviceReads()) {
            mover.cpuWrites(live, 0, live.sizeBytes);
        }
        calls.map(live, run.device().dma(cpu));
        if (!live.isMapped(index)) {
            DmaFailure why = run.device().dma(cpu).lastFailure();
            tally.failed(why.reason());
            failures.add(live, run.device().name(), why);
            return;
        }
        tally.mapsDone++;
        tally.bytesMapped += live.sizeBytes;
        if (direction.deviceReads() && !mover.deviceReads(live, index, 0, live.sizeBytes, run.device(), tally)) {
            live.wrong[index] = true;
        }
    }

    // ---- unmaps

    void unmap(LiveMapping live, int attrs, int cpu) {
        if (!live.isMapped(index)) {
            return;
        }
        DeviceRun run = devices.get(live.device);
        TallyCounter tally = run.tally();
        boolean readBack = live.isReadBackAfter(attrs);
        boolean written = !readBack || mover.deviceWrites(live, index, 0, live.sizeBytes, run.device(), tally);
        long offset = sampleOffset(live);
        long sampleAddr = calls.dmaAddrAt(live, offset);
        calls.unmap(live, run.device().dma(cpu), attrs);
        tally.unmaps++;
        boolean arrived = !readBack || mover.cpuReads(live, 0, live.sizeBytes, tally);
        if (written && arrived && !live.wrong[index]) {
            tally.verifiedMaps++;
        } else {
            tally.mismatchedMaps++;
        }
        readStale(run, sampleAddr, live);
    }

    /** A place in the mapping from which on there are up to 8 bytes. */
    private static long sampleOffset(LiveMapping live) {
        long places = live.sizeBytes - SAMPLE_BYTES + 1;
        return places <= 1 ? 0 : Long.remainderUnsigned(Pattern.mix(live.map.id(), places), places);
    }

    /** The device reads once more what was just unmapped, within one page: it gets through or is blocked. */
    private void readStale(DeviceRun run, long dmaAddr, LiveMapping live) {
        long inPage = Addresses.PAGE_SIZE - (dmaAddr & (Addresses.PAGE_SIZE - 1));
        int length = (int) Math.min(Math.min(SAMPLE_BYTES, live.sizeBytes), inPage);
        if (length == 0) {
            return;
        }
        if (run.device().bus().read(dmaAddr, sample, 0, length) > 0) {
            run.tally().staleReads++;
            staleReads.add(() -> "line " + live.map.origin().lineNumber() + ": "
                    + run.device().name() + " still reads " + Addresses.hexRange(dmaAddr, length) + " after its unmap");
        } else {
            run.tally().blockedReads++;
        }
    }

    // ---- syncs

    void syncForCpu(LiveMapping live, long offset, long sizeBytes, int cpu) {
        if (!live.isMapped(index)) {
            return;
        }
        DeviceRun run = devices.get(live.device);
        TallyCounter tally = run.tally();
        tally.syncs++;
        boolean moves = live.map.direction().deviceWrites();
        boolean written = !moves || mover.deviceWrites(live, index, offset, sizeBytes, run.device(), tally);
        calls.syncForCpu(live, offset, sizeBytes, run.device().dma(cpu));
        boolean arrived = !moves || mover.cpuReads(live, offset, sizeBytes, tally);
        if (!written || !arrived) {
            live.wrong[index] = true;
        }
    }

    void syncForDevice(LiveMapping live, long offset, long sizeBytes, int cpu) {
        if (!live.isMapped(index)) {
            return;
        }
        DeviceRun run = devices.get(live.device);
        TallyCounter tally = run.tally();
        tally.syncs++;
        boolean moves = live.map.direction().deviceReads();
        if (moves) {
            mover.cpuWrites(live, offset, sizeBytes);
        }
        calls.syncForDevice(live, offset, sizeBytes, run.device().dma(cpu));
        if (moves && !mover.deviceReads(live, index, offset, sizeBytes, run.device(), tally)) {
            live.wrong[index] = true;
        }
    }

    // ---- coherent memory

    @Nullable CoherentBuffer alloc(int device, Operation.Alloc alloc, int cpu) {
        DeviceRun run = devices.get(device);
        TallyCounter tally = run.tally();
        tally.allocsTried++;
        CoherentBuffer buffer = run.device().dma(cpu).allocCoherent(alloc.sizeBytes(), alloc.attrs());
        if (buffer == null) {
            tally.allocFailed(run.device().failure(cpu).reason());
            return null;
        }
        tally.allocsDone++;
        return buffer;
    }

    /** Exchanges bytes through an allocation; true when all was right. */
    boolean exchange(int device, CoherentBuffer buffer, long salt) {
        DeviceRun run = devices.get(device);
        return coherent.exchange(buffer, run.device(), salt, run.tally());
    }

    void free(int device, CoherentBuffer buffer, boolean wrong) {
        TallyCounter tally = devices.get(device).tally();
        tally.frees++;
        if (wrong) {
            tally.allocsMismatched++;
        }
        buffer.close();
    }

    // ---- the end

    void countStillLive(LiveMapping live) {
        if (live.isMapped(index)) {
            devices.get(live.device).stillLive++;
        }
    }

    void countStillLive(LiveAlloc live) {
        if (live.buffers[index] != null) {
            devices.get(live.device).allocsStillLive++;
        }
    }

    BackendResult result(List<String> deviceNames) {
        Map<String, Tally> byDevice = new LinkedHashMap<>();
        Tally total = Tally.ZERO;
        for (int i = 0; i < devices.size(); i++) {
            Tally tally = devices.get(i).snapshot();
            byDevice.put(deviceNames.get(i), tally);
            total = total.plus(tally);
        }
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        machine.report(metrics::put);
        return new BackendResult(
                name,
                summary,
                machine.blocksAfterUnmap(),
                total,
                Collections.unmodifiableMap(byDevice),
                Collections.unmodifiableMap(metrics),
                calls.mapTime(),
                calls.unmapTime(),
                failures.snapshot(),
                violations(total),
                List.copyOf(findings.kept()),
                machine.log().warnCount(),
                machine.memory().residentBytes());
    }

    private List<String> violations(Tally total) {
        List<String> violations = new ArrayList<>();
        machine.checkStructure(violation -> {
            if (violations.size() < MOST_VIOLATIONS) {
                violations.add(violation);
            }
        });
        if (machine.blocksAfterUnmap() && total.staleReads() > 0) {
            violations.add(total.staleReads() + " device reads after an unmap got through, such as: "
                    + String.join("; ", staleReads.kept()));
        }
        return List.copyOf(violations);
    }

    @Override
    public void close() {
        machine.close();
    }
}
