package io.pagewalk.trace.replay;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.trace.workload.Anomaly;
import io.pagewalk.trace.workload.AnomalyCounts;
import io.pagewalk.trace.workload.Operation;
import io.pagewalk.trace.workload.Origin;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One replay under way: hands each operation to every backend in turn, and keeps what is live. */
final class Replay {
    /*
     * Lockstep: an operation is done on every backend before the next one is read, so that one pass over the trace serves them all,
     * and what is live is kept once. Memory follows what is live: each chunk of a machine's memory counts its live mappings, and at
     * none it is discarded on all machines. What a buffer held between two mappings is lost by that, which nobody misses: each
     * mapping writes its bytes anew.
     */
    private static final int CHUNK_SHIFT = Integer.numberOfTrailingZeros(Machines.CHUNK_BYTES);

    private final List<BackendRun> runs;
    private final MachineLayout layout;
    private final DeviceBook devices;
    private final AnomalyCounts anomalies;
    private final int cpus;
    private final Map<Long, LiveMapping> mappings = new HashMap<>();
    private final Map<Long, LiveAlloc> allocs = new HashMap<>();
    private final ChunkUse chunks = new ChunkUse();

    Replay(List<BackendRun> runs, MachineLayout layout, DeviceBook devices, AnomalyCounts anomalies, int cpus) {
        this.runs = runs;
        this.layout = layout;
        this.devices = devices;
        this.anomalies = anomalies;
        this.cpus = cpus;
    }

    void accept(Operation operation) {
        Origin origin = operation.origin();
        for (BackendRun run : runs) {
            run.advanceTo(origin.timeNanos());
        }
        if (operation instanceof Operation.Map map) {
            map(map);
        } else if (operation instanceof Operation.Unmap unmap) {
            unmap(unmap);
        } else if (operation instanceof Operation.SyncForCpu sync) {
            syncForCpu(sync);
        } else if (operation instanceof Operation.SyncForDevice sync) {
            syncForDevice(sync);
        } else if (operation instanceof Operation.Alloc alloc) {
            alloc(alloc);
        } else if (operation instanceof Operation.Free free) {
            free(free);
        } else if (operation instanceof Operation.LearnedMask learned) {
            devices.learn(learned.device(), learned.mask());
        }
    }

    private int cpuOf(Origin origin) {
        if (origin.cpu() >= 0 && origin.cpu() < cpus) {
            return origin.cpu();
        }
        anomalies.add(Anomaly.CPU_BEYOND_MACHINE);
        return Math.floorMod(origin.cpu(), cpus);
    }

    // ---- mappings

    private void map(Operation.Map map) {
        if (isBug(map)) {
            anomalies.add(Anomaly.CALL_IS_A_BUG);
            return;
        }
        requireRam(map);
        int cpu = cpuOf(map.origin());
        LiveMapping live = new LiveMapping(map, devices.indexOf(map.device()), runs.size());
        useMemory(map);
        for (BackendRun run : runs) {
            run.map(live, cpu);
        }
        if (map.failedWhenRecorded()) {
            end(live, map.attrs(), cpu);
        } else {
            mappings.put(map.id(), live);
        }
    }

    /** A kernel stops at such a call, so no kernel recorded it: the line is damaged or made up. */
    private static boolean isBug(Operation.Map map) {
        boolean bug = map.direction() == DmaDirection.NONE;
        for (long lengthBytes : map.lengthsBytes()) {
            bug |= lengthBytes == 0;
        }
        return bug;
    }

    private void requireRam(Operation.Map map) {
        for (int i = 0; i < map.physAddrs().length; i++) {
            layout.requireRam(map.origin().lineNumber(), map.device(), map.physAddrs()[i], map.lengthsBytes()[i]);
        }
    }

    private void unmap(Operation.Unmap unmap) {
        LiveMapping live = mappings.remove(unmap.id());
        if (live != null) {
            end(live, unmap.attrs(), cpuOf(unmap.origin()));
        }
    }

    private void end(LiveMapping live, int attrs, int cpu) {
        live.freshBytes();
        for (BackendRun run : runs) {
            run.unmap(live, attrs, cpu);
        }
        releaseMemory(live.map);
    }

    private void syncForCpu(Operation.SyncForCpu sync) {
        LiveMapping live = mappings.get(sync.id());
        if (live != null) {
            int cpu = cpuOf(sync.origin());
            live.freshBytes();
            for (BackendRun run : runs) {
                run.syncForCpu(live, sync.offsetBytes(), sync.sizeBytes(), cpu);
            }
        }
    }

    private void syncForDevice(Operation.SyncForDevice sync) {
        LiveMapping live = mappings.get(sync.id());
        if (live != null) {
            int cpu = cpuOf(sync.origin());
            live.freshBytes();
            for (BackendRun run : runs) {
                run.syncForDevice(live, sync.offsetBytes(), sync.sizeBytes(), cpu);
            }
        }
    }

    // ---- memory

    private void useMemory(Operation.Map map) {
        for (int i = 0; i < map.physAddrs().length; i++) {
            if (map.lengthsBytes()[i] != 0) {
                long last = Addresses.last(map.physAddrs()[i], map.lengthsBytes()[i]) >>> CHUNK_SHIFT;
                for (long chunk = map.physAddrs()[i] >>> CHUNK_SHIFT; chunk <= last; chunk++) {
                    chunks.add(chunk);
                }
            }
        }
    }

    private void releaseMemory(Operation.Map map) {
        for (int i = 0; i < map.physAddrs().length; i++) {
            if (map.lengthsBytes()[i] != 0) {
                long last = Addresses.last(map.physAddrs()[i], map.lengthsBytes()[i]) >>> CHUNK_SHIFT;
                for (long chunk = map.physAddrs()[i] >>> CHUNK_SHIFT; chunk <= last; chunk++) {
                    release(chunk);
                }
            }
        }
    }

    private void release(long chunk) {
        long first = chunk << CHUNK_SHIFT;
        if (chunks.remove(chunk) && layout.ram().contains(first, Machines.CHUNK_BYTES)) {
            for (BackendRun run : runs) {
                run.machine().memory().discard(first, Machines.CHUNK_BYTES);
            }
        }
    }

    // ---- coherent memory

    private void alloc(Operation.Alloc alloc) {
        int cpu = cpuOf(alloc.origin());
        LiveAlloc live = new LiveAlloc(devices.indexOf(alloc.device()), runs.size());
        for (int i = 0; i < runs.size(); i++) {
            live.buffers[i] = runs.get(i).alloc(live.device, alloc, cpu);
        }
        exchange(live, alloc.id());
        if (alloc.failedWhenRecorded()) {
            free(live);
        } else {
            allocs.put(alloc.id(), live);
        }
    }

    private void exchange(LiveAlloc live, long salt) {
        for (int i = 0; i < runs.size(); i++) {
            CoherentBuffer buffer = live.buffers[i];
            if (buffer != null && !runs.get(i).exchange(live.device, buffer, salt)) {
                live.wrong[i] = true;
            }
        }
    }

    private void free(Operation.Free free) {
        LiveAlloc live = allocs.remove(free.id());
        if (live != null) {
            exchange(live, ~free.id());
            free(live);
        }
    }

    private void free(LiveAlloc live) {
        for (int i = 0; i < runs.size(); i++) {
            CoherentBuffer buffer = live.buffers[i];
            if (buffer != null) {
                runs.get(i).free(live.device, buffer, live.wrong[i]);
            }
        }
    }

    // ---- the end

    /** Tells each backend what it has live, which stays so. */
    void finish() {
        for (LiveMapping live : mappings.values()) {
            runs.forEach(run -> run.countStillLive(live));
        }
        for (LiveAlloc live : allocs.values()) {
            runs.forEach(run -> run.countStillLive(live));
        }
    }
}
