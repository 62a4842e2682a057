package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The kernel's {@code dma_debug_entry}: one mapping, segment or allocation (dma-core:DBG-2). Not thread-safe. */
final class DebugRecord {
    /** Score of a record that agrees with a call in everything that is looked at (dma-core:DBG-5). */
    static final int PERFECT = 4;

    final @Nullable DebugDevice device;
    final long dmaAddr;
    final long sizeBytes;
    final MappingType type;
    final DmaDirection direction;
    final long physAddr;
    final int callEnts;
    final int mappedEnts;
    final Caller caller;
    ErrorCheck errorCheck;
    private @Nullable String owner;

    private DebugRecord(DebugRef ref, int mappedEnts, ErrorCheck errorCheck, Caller caller) {
        this.device = ref.device();
        this.dmaAddr = ref.dmaAddr();
        this.sizeBytes = ref.sizeBytes();
        this.type = ref.type();
        this.direction = ref.direction();
        this.physAddr = ref.physAddr();
        this.callEnts = ref.callEnts();
        this.mappedEnts = mappedEnts;
        this.errorCheck = errorCheck;
        this.caller = caller;
        this.owner = caller.owner();
    }

    static DebugRecord of(DebugRef ref, ErrorCheck errorCheck, Caller caller) {
        return new DebugRecord(ref, 0, errorCheck, caller);
    }

    static DebugRecord ofSegment(DebugRef ref, int mappedEnts, Caller caller) {
        return new DebugRecord(ref, mappedEnts, ErrorCheck.NOT_APPLICABLE, caller);
    }

    void tag(String newOwner) {
        owner = newOwner;
    }

    boolean startsAt(@Nullable DebugDevice ofDevice, long addr) {
        return dmaAddr == addr && Objects.equals(device, ofDevice);
    }

    /** Ends may be equal (DBG-4). */
    boolean holds(DebugRef ref) {
        return Objects.equals(device, ref.device())
                && Addresses.lessOrEqual(dmaAddr, ref.dmaAddr())
                && Addresses.lessOrEqual(ref.dmaAddr() + ref.sizeBytes(), dmaAddr + sizeBytes);
    }

    int score(DebugRef ref) {
        return (sizeBytes == ref.sizeBytes() ? 1 : 0)
                + (type == ref.type() ? 1 : 0)
                + (direction == ref.direction() ? 1 : 0)
                + (callEnts == ref.callEnts() ? 1 : 0);
    }

    DebugMapping snapshot() {
        return new DebugMapping(
                device,
                type,
                dmaAddr,
                sizeBytes,
                direction,
                physAddr,
                callEnts,
                mappedEnts,
                errorCheck,
                owner,
                caller.site(),
                caller.timeNanos());
    }
}
