package io.pagewalk.trace.predict;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Makes the calls of a trace with an IOMMU again, each when its moment comes, and judges the addresses. */
final class IommuReplay implements MomentSink {
    /*
     * After a miss the machine holds another address than the recording one, and if nothing is done about it, this costs further
     * addresses that have nothing to do with the first error: the two stay exchanged for as long as both go round. So a strict
     * machine is set right: the call is made again until the recorded address comes, and what came before it is given back in
     * reverse order, which leaves the caches as if it had come at once. A lazy one is not, since what it gives back waits for a
     * flush.
     */
    private static final int MOST_TRIES = 128;

    private final PredictingMachine machine;
    private final Score score;
    private final boolean setsRight;
    private final Map<Call, Placed> placed = new HashMap<>();

    IommuReplay(PredictingMachine machine, Score score, boolean setsRight) {
        this.machine = machine;
        this.score = score;
        this.setsRight = setsRight;
    }

    @Override
    public void accept(Moment moment, Call call) throws MachineFactsException {
        Dma dma = machine.dma(call.device, moment.header);
        if (moment.takes) {
            take(call, dma);
        } else {
            Placed where = placed.remove(call);
            if (where != null) {
                give(call, where, dma);
            }
        }
    }

    private void take(Call call, Dma dma) {
        Placed where = make(call, dma);
        String remark = where.dmaAddr() == call.dmaAddr() && !where.isFailed() ? difference(call, where) : "";
        boolean right = score.judge(call.kind, call.header, call.device, call.dmaAddr(), where.dmaAddr(), remark);
        if (call.kind == AddressKind.FAILED_PAGE) {
            give(call, where, dma);
        } else {
            placed.put(call, right || !setsRight || where.isFailed() ? where : setRight(call, where, dma));
        }
    }

    /** A list is right when all its DMA segments are; without its lengths only its start is known. */
    private static String difference(Call call, Placed where) {
        boolean known = call.kind == AddressKind.LIST && where.table != null;
        return !known || (Arrays.equals(where.dmaAddrs, call.dmaAddrs) && Arrays.equals(where.sizes, call.dmaLengths))
                ? ""
                : "the list's segments differ: " + call.dmaAddrs.length + " recorded, " + where.dmaAddrs.length
                        + " predicted";
    }

    private Placed setRight(Call call, Placed wrong, Dma dma) {
        ArrayDeque<Placed> tries = new ArrayDeque<>();
        Placed now = wrong;
        while (!now.isFailed() && now.dmaAddr() != call.dmaAddr() && tries.size() < MOST_TRIES) {
            tries.push(now);
            now = make(call, dma);
        }
        boolean found = now.dmaAddr() == call.dmaAddr();
        if (!found) {
            give(call, now, dma);
        }
        while (tries.size() > (found ? 0 : 1)) {
            give(call, tries.pop(), dma);
        }
        return found ? now : wrong;
    }

    private static Placed make(Call call, Dma dma) {
        return switch (call.kind) {
            case COHERENT -> memory(dma.allocCoherent(call.lengths[0], call.attrs));
            case LIST -> call.lengths.length == 0 ? span(call, dma) : list(call, dma);
            default -> page(call, call.physAddrs[0], call.lengths[0], dma);
        };
    }

    private static Placed memory(@Nullable CoherentBuffer buffer) {
        return buffer == null ? Placed.failed() : Placed.memory(buffer);
    }

    private static Placed page(Call call, long physAddr, long sizeBytes, Dma dma) {
        long dmaAddr = dma.mapPage(physAddr, sizeBytes, call.direction, call.attrs | DmaAttrs.SKIP_CPU_SYNC);
        return dmaAddr == Dma.DMA_MAPPING_ERROR ? Placed.failed() : Placed.page(dmaAddr, sizeBytes);
    }

    /** As many pages as the list has, padding included. */
    private static Placed span(Call call, Dma dma) {
        return page(call, call.physAddrs[0], call.spanBytes(), dma);
    }

    private static Placed list(Call call, Dma dma) {
        SgTable table = new SgTable(call.physAddrs.length);
        for (int i = 0; i < call.physAddrs.length; i++) {
            table.add(call.physAddrs[i], call.lengths[i]);
        }
        int nents = dma.mapSg(table, table.origNents(), call.direction, call.attrs | DmaAttrs.SKIP_CPU_SYNC);
        return nents <= 0 ? Placed.failed() : Placed.list(table, nents);
    }

    private static void give(Call call, Placed where, Dma dma) {
        if (where.isFailed()) {
            return;
        }
        int attrs = call.attrs | DmaAttrs.SKIP_CPU_SYNC;
        if (where.buffer != null) {
            dma.memory().freeAttrs(call.lengths[0], where.buffer.cpuAddr(), where.dmaAddr(), call.attrs);
        } else if (where.table != null) {
            dma.unmapSg(where.table, where.table.origNents(), call.direction, attrs);
        } else {
            dma.unmapPage(where.dmaAddr(), where.sizes[0], call.direction, attrs);
        }
    }

    @Override
    public void finish() {
        placed.clear();
    }
}
