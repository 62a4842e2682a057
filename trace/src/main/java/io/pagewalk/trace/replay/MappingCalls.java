package io.pagewalk.trace.replay;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.trace.workload.Operation;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/** Makes the calls of mappings on one backend, times them, and keeps the lists that they need. */
final class MappingCalls {
    private final int backend;
    private final CallTimer mapTimer;
    private final CallTimer unmapTimer;
    private final ArrayDeque<SgTable> spareTables = new ArrayDeque<>();

    MappingCalls(int backend, boolean timing) {
        this.backend = backend;
        this.mapTimer = new CallTimer(timing);
        this.unmapTimer = new CallTimer(timing);
    }

    @Nullable Latency mapTime() {
        return mapTimer.latency();
    }

    @Nullable Latency unmapTime() {
        return unmapTimer.latency();
    }

    /** Maps; {@link LiveMapping#isMapped} then tells whether it could be. */
    void map(LiveMapping live, Dma dma) {
        if (live.isList()) {
            mapList(live, dma);
        } else {
            Operation.Map map = live.map;
            long start = mapTimer.start();
            long dmaAddr = dma.mapPage(map.physAddrs()[0], live.sizeBytes, map.direction(), map.attrs());
            mapTimer.stop(start);
            live.dmaAddrs[backend] = dmaAddr;
        }
    }

    private void mapList(LiveMapping live, Dma dma) {
        Operation.Map map = live.map;
        SgTable table = tableFor(map);
        long start = mapTimer.start();
        int nents = dma.mapSg(table, table.origNents(), map.direction(), map.attrs());
        mapTimer.stop(start);
        if (nents == 0) {
            recycle(table);
        } else {
            live.tables[backend] = table;
            live.dmaAddrs[backend] = table.dmaAddr(0);
        }
    }

    private SgTable tableFor(Operation.Map map) {
        SgTable spare = spareTables.poll();
        SgTable table = spare == null ? new SgTable(map.physAddrs().length) : spare;
        for (int i = 0; i < map.physAddrs().length; i++) {
            table.add(map.physAddrs()[i], map.lengthsBytes()[i]);
        }
        return table;
    }

    private void recycle(SgTable table) {
        table.clear();
        spareTables.push(table);
    }

    void unmap(LiveMapping live, Dma dma, int attrs) {
        DmaDirection direction = live.map.direction();
        SgTable table = live.table(backend);
        long start = unmapTimer.start();
        if (table == null) {
            dma.unmapPage(live.dmaAddrs[backend], live.sizeBytes, direction, attrs);
        } else {
            dma.unmapSg(table, table.origNents(), direction, attrs);
        }
        unmapTimer.stop(start);
        if (table != null) {
            recycle(table);
            live.tables[backend] = null;
        }
        live.dmaAddrs[backend] = LiveMapping.NOT_MAPPED;
    }

    /** Syncs a whole list as a list, anything else by its DMA address, as the driver did. */
    void syncForCpu(LiveMapping live, long offset, long sizeBytes, Dma dma) {
        SgTable table = live.table(backend);
        if (table != null && live.isWhole(offset, sizeBytes)) {
            dma.syncSgForCpu(table, table.origNents(), live.map.direction());
        } else {
            dma.syncSingleForCpu(dmaAddrAt(live, offset), sizeBytes, live.map.direction());
        }
    }

    /** The same towards the device. */
    void syncForDevice(LiveMapping live, long offset, long sizeBytes, Dma dma) {
        SgTable table = live.table(backend);
        if (table != null && live.isWhole(offset, sizeBytes)) {
            dma.syncSgForDevice(table, table.origNents(), live.map.direction());
        } else {
            dma.syncSingleForDevice(dmaAddrAt(live, offset), sizeBytes, live.map.direction());
        }
    }

    /** The DMA address of a byte of a live mapping, counted over all segments. */
    long dmaAddrAt(LiveMapping live, long offset) {
        SgTable table = live.table(backend);
        if (table == null) {
            return live.dmaAddrs[backend] + offset;
        }
        long left = offset;
        int segment = 0;
        while (segment < table.nents() - 1 && left >= table.dmaLengthBytes(segment)) {
            left -= table.dmaLengthBytes(segment);
            segment++;
        }
        return table.dmaAddr(segment) + left;
    }
}
