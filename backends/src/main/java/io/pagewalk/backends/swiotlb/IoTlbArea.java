package io.pagewalk.backends.swiotlb;

import io.pagewalk.backends.lock.SpinLock;

/** A part of a pool with its own lock, as a rule one for each CPU. What it counts is guarded by the lock. */
final class IoTlbArea {
    private final SpinLock lock = new SpinLock();
    private int index;
    private int used;

    void lock() {
        lock.lock();
    }

    void unlock() {
        lock.unlock();
    }

    /** Where the next search starts, counted from the area's first slot (dma-core:SWS-13). */
    int index() {
        return index;
    }

    void startNextSearchAt(int newIndex) {
        index = newIndex;
    }

    /** Slots in use; a double release makes it too small, as in the kernel (dma-core:SWR-6). */
    int used() {
        return used;
    }

    void addUsed(int slots) {
        used += slots;
    }

    int usedLocked() {
        lock();
        try {
            return used;
        } finally {
            unlock();
        }
    }
}
