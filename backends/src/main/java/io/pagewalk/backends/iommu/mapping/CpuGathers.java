package io.pagewalk.backends.iommu.mapping;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * One preallocated gather for each CPU. Two threads that drive the same CPU are possible here though not in a kernel:
 * the second one gets a gather of its own for the moment. Thread-safe.
 */
final class CpuGathers {
    private static final VarHandle BUSY = MethodHandles.arrayElementVarHandle(int[].class);
    private static final int FREE = 0;
    private static final int TAKEN = 1;
    /** Ints between the flags of two CPUs, so that they lie in different cache lines. */
    private static final int STRIDE = 32;

    private final int[] busy;
    private final InvalidationGather[] gathers;

    CpuGathers(int cpus) {
        busy = new int[(cpus + 1) * STRIDE];
        gathers = new InvalidationGather[cpus];
        for (int cpu = 0; cpu < cpus; cpu++) {
            gathers[cpu] = new InvalidationGather();
        }
    }

    /** Takes a CPU's gather, emptied. */
    InvalidationGather take(int cpu, boolean queued) {
        boolean mine = BUSY.compareAndSet(busy, (cpu + 1) * STRIDE, FREE, TAKEN);
        InvalidationGather gather = mine ? gathers[cpu] : new InvalidationGather();
        gather.init(queued);
        return gather;
    }

    /** Puts a gather back. */
    void give(int cpu, InvalidationGather gather) {
        if (gather == gathers[cpu]) {
            BUSY.setRelease(busy, (cpu + 1) * STRIDE, FREE);
        }
    }
}
