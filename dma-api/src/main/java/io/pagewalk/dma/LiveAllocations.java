package io.pagewalk.dma;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The coherent memory of a device by CPU address, for drivers that free by address. Thread-safe. */
final class LiveAllocations {
    private final Map<Long, CoherentAllocation> byCpuAddr = new ConcurrentHashMap<>();

    void add(CoherentAllocation allocation) {
        byCpuAddr.put(allocation.pages().cpuAddr(), allocation);
    }

    @Nullable CoherentAllocation at(long cpuAddr) {
        return byCpuAddr.get(cpuAddr);
    }

    void remove(CoherentAllocation allocation) {
        byCpuAddr.remove(allocation.pages().cpuAddr(), allocation);
        allocation.markFreed();
    }
}
