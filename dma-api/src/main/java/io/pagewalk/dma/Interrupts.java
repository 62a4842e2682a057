package io.pagewalk.dma;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Whether each CPU takes interrupts, which some calls demand (dma-core:FE-53). Every CPU does at first. Thread-safe.
 */
public final class Interrupts {
    private final AtomicIntegerArray disabled;

    Interrupts(int cpus) {
        disabled = new AtomicIntegerArray(cpus);
    }

    /**
     * {@code local_irq_disable}.
     *
     * @param cpu from 0
     */
    public void disable(int cpu) {
        disabled.set(checked(cpu), 1);
    }

    /**
     * {@code local_irq_enable}.
     *
     * @param cpu from 0
     */
    public void enable(int cpu) {
        disabled.set(checked(cpu), 0);
    }

    /**
     * {@code irqs_disabled}.
     *
     * @param cpu from 0
     * @return whether that CPU takes none
     */
    public boolean areDisabled(int cpu) {
        return disabled.get(checked(cpu)) != 0;
    }

    private int checked(int cpu) {
        if (cpu < 0 || cpu >= disabled.length()) {
            throw new IllegalArgumentException("CPU " + cpu + " of a machine with " + disabled.length());
        }
        return cpu;
    }
}
