package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One device's calls into a dma-debug of its own, in short. */
final class Feed implements DmaDebugHost {
    static final DebugDevice NIC = new DebugDevice("0000:00:08.0", "e1000", "pci");
    static final DebugDevice DISK = new DebugDevice("0000:00:04.0", "nvme", "pci");

    final List<DmaDebugReport> heard = new ArrayList<>();
    final List<String> messages = new ArrayList<>();
    final DmaDebug debug;

    @Nullable DebugDevice device = NIC;

    @Nullable KernelAreas areas;

    @Nullable Need missing;

    boolean bounces;
    long now;

    Feed() {
        this(DmaDebugOptions.DEFAULT);
    }

    Feed(DmaDebugOptions options) {
        debug = new DmaDebug(options, this);
    }

    @Override
    public boolean hasNoMemory(Need need) {
        return need == missing;
    }

    @Override
    public void message(String text) {
        messages.add(text);
    }

    @Override
    public void report(DmaDebugReport report) {
        heard.add(report);
    }

    @Override
    public @Nullable KernelAreas areas() {
        return areas;
    }

    @Override
    public boolean bouncesSharedLines(@Nullable DebugDevice asked) {
        return bounces;
    }

    Caller caller() {
        return new Caller(device, 0, now, null, null);
    }

    Feed as(@Nullable DebugDevice other) {
        device = other;
        return this;
    }

    Feed map(long physAddr, long sizeBytes, DmaDirection direction) {
        return map(physAddr, sizeBytes, direction, 0, physAddr);
    }

    Feed map(long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        debug.accept(new DmaCall.MapPage(caller(), physAddr, sizeBytes, direction, attrs, dmaAddr));
        return this;
    }

    /** Maps and asks for the error, as a good driver does. */
    Feed good(long physAddr, long sizeBytes, DmaDirection direction) {
        return map(physAddr, sizeBytes, direction).asked(physAddr);
    }

    Feed asked(long dmaAddr) {
        debug.accept(new DmaCall.MappingError(caller(), dmaAddr));
        return this;
    }

    Feed unmap(long dmaAddr, long sizeBytes, DmaDirection direction) {
        debug.accept(new DmaCall.UnmapPage(caller(), dmaAddr, sizeBytes, direction));
        return this;
    }

    Feed mapSg(DmaDirection direction, int nents, int mappedEnts, Segment... segments) {
        return mapSg(direction, nents, mappedEnts, null, segments);
    }

    Feed mapSg(DmaDirection direction, int nents, int mappedEnts, @Nullable SegmentLimits limits, Segment... segments) {
        debug.accept(new DmaCall.MapSg(caller(), List.of(segments), nents, mappedEnts, direction, 0, limits));
        return this;
    }

    Feed unmapSg(DmaDirection direction, int nents, Segment... segments) {
        debug.accept(new DmaCall.UnmapSg(caller(), List.of(segments), nents, direction));
        return this;
    }

    Feed sync(long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu) {
        debug.accept(new DmaCall.SyncSingle(caller(), dmaAddr, sizeBytes, direction, forCpu));
        return this;
    }

    Feed syncSg(DmaDirection direction, int nents, boolean forCpu, Segment... segments) {
        debug.accept(new DmaCall.SyncSg(caller(), List.of(segments), nents, direction, forCpu));
        return this;
    }

    Feed alloc(MappingType type, long physAddr, long sizeBytes, DmaDirection direction) {
        debug.accept(new DmaCall.Alloc(caller(), type, physAddr, sizeBytes, direction, 0, physAddr));
        return this;
    }

    Feed free(MappingType type, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        debug.accept(new DmaCall.Free(caller(), type, physAddr, sizeBytes, direction, dmaAddr));
        return this;
    }

    Feed unbind() {
        debug.accept(new DmaCall.DriverUnbound(caller()));
        return this;
    }

    /** A segment whose two sides are the same. */
    static Segment segment(long addr, long sizeBytes) {
        return new Segment(addr, sizeBytes, addr, sizeBytes);
    }

    /** Kinds of all reports in order. */
    List<DmaDebugKind> kinds() {
        return heard.stream().map(DmaDebugReport::kind).toList();
    }

    /** What the kernel would say of the latest report. */
    String text() {
        return heard.get(heard.size() - 1).kernelText();
    }
}
