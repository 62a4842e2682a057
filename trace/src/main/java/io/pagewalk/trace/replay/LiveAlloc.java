package io.pagewalk.trace.replay;

import io.pagewalk.dma.CoherentBuffer;
import org.jspecify.annotations.Nullable;

/** One live coherent allocation of the workload, and what each backend gave for it. */
final class LiveAlloc {
    final int device;

    /** By backend: the memory, null where there was none. */
    final @Nullable CoherentBuffer[] buffers;

    /** By backend: whether a byte was wrong. */
    final boolean[] wrong;

    LiveAlloc(int device, int backends) {
        this.device = device;
        buffers = new @Nullable CoherentBuffer[backends];
        wrong = new boolean[backends];
    }
}
