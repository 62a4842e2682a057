package io.pagewalk.trace.replay;

import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.trace.workload.Operation;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** One live mapping of the workload, and what each backend made of it. */
final class LiveMapping {
    /** The DMA address of nothing: the map failed on that backend. */
    static final long NOT_MAPPED = -1L;

    private static final @Nullable SgTable[] NO_TABLES = {};

    final Operation.Map map;
    final long sizeBytes;

    /** Where the device stands among those of the replay. */
    final int device;

    /** By backend: the DMA address, of a list that of its first segment. */
    final long[] dmaAddrs;

    /** By backend: the list, null for a page or a list that failed. */
    final @Nullable SgTable[] tables;

    /** By backend: whether a byte was wrong. */
    final boolean[] wrong;

    private int phase;

    LiveMapping(Operation.Map map, int device, int backends) {
        this.map = map;
        this.sizeBytes = map.sizeBytes();
        this.device = device;
        dmaAddrs = new long[backends];
        Arrays.fill(dmaAddrs, NOT_MAPPED);
        tables = map.kind() == Operation.Kind.SG ? new @Nullable SgTable[backends] : NO_TABLES;
        wrong = new boolean[backends];
    }

    boolean isList() {
        return map.kind() == Operation.Kind.SG;
    }

    boolean isMapped(int backend) {
        return dmaAddrs[backend] != NOT_MAPPED;
    }

    boolean isWhole(long offset, long size) {
        return offset == 0 && size == sizeBytes;
    }

    @Nullable SgTable table(int backend) {
        return isList() ? tables[backend] : null;
    }

    /** Whether an unmap with these attributes makes the device's last writes visible to the CPU. */
    boolean isReadBackAfter(int unmapAttrs) {
        return map.direction().deviceWrites() && (unmapAttrs & DmaAttrs.SKIP_CPU_SYNC) == 0;
    }

    /** The salt of the bytes that are there now. */
    long salt() {
        return Pattern.mix(map.id(), phase);
    }

    /** Begins a new set of bytes. */
    void freshBytes() {
        phase++;
    }
}
