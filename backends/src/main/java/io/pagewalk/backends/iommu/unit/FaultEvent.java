package io.pagewalk.backends.iommu.unit;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The primary fault event: an interrupt that is raised when the first record comes into use, and delivered after the
 * access, unless it is masked. Implements the last part of iommu:FLT-2.
 *
 * <p>Thread-safe; allocates nothing.
 */
final class FaultEvent {
    private static final int PENDING_BIT = 1 << 30;

    private final AtomicBoolean pending = new AtomicBoolean();
    private volatile boolean masked = true;
    private volatile Runnable interrupt = () -> {};

    void connect(Runnable newInterrupt) {
        interrupt = newInterrupt;
    }

    void raise() {
        pending.set(true);
    }

    /** Software has seen to every record, so that there is nothing to tell any more. */
    void withdraw() {
        pending.set(false);
    }

    /** Runs the interrupt if there is one to be delivered. Not to be called while an access is under way. */
    void deliver() {
        if (!masked && pending.getAndSet(false)) {
            interrupt.run();
        }
    }

    /** FECTL as it reads. */
    int control() {
        return (masked ? VtdRegisters.FECTL_IM : 0) | (pending.get() ? PENDING_BIT : 0);
    }

    void setControl(int value) {
        masked = (value & VtdRegisters.FECTL_IM) != 0;
    }
}
