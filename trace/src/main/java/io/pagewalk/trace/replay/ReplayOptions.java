package io.pagewalk.trace.replay;

import java.util.List;

/**
 * How to replay. Immutable.
 *
 * @param backends names of the backend variants, in order; empty for all there are
 * @param touch how much of each buffer to move and compare
 * @param timing whether to time each map and unmap
 * @param machine the machine
 * @param maxEvents events to replay at most
 * @param progress hears how far the replay is
 */
public record ReplayOptions(
        List<String> backends,
        Touch touch,
        boolean timing,
        MachineSpec machine,
        long maxEvents,
        ReplayProgress progress) {

    /** All backends, the edges of buffers, timed, the default machine. */
    public static final ReplayOptions DEFAULT = new ReplayOptions(
            List.of(), Touch.EDGES, true, MachineSpec.DEFAULT, Long.MAX_VALUE, (events, bytesRead, totalBytes) -> {});

    /**
     * Copies the list.
     *
     * @param backends names of the backend variants
     * @param touch how much to compare
     * @param timing whether to time
     * @param machine the machine
     * @param maxEvents events to replay at most
     * @param progress hears how far the replay is
     */
    public ReplayOptions {
        backends = List.copyOf(backends);
    }

    /**
     * Chooses backends.
     *
     * @param names names of variants; none for all
     * @return new options
     */
    public ReplayOptions withBackends(List<String> names) {
        return new ReplayOptions(names, touch, timing, machine, maxEvents, progress);
    }

    /**
     * Chooses how much to compare.
     *
     * @param howMuch of each buffer
     * @return new options
     */
    public ReplayOptions withTouch(Touch howMuch) {
        return new ReplayOptions(backends, howMuch, timing, machine, maxEvents, progress);
    }

    /**
     * Turns timing on or off.
     *
     * @param on whether to time
     * @return new options
     */
    public ReplayOptions withTiming(boolean on) {
        return new ReplayOptions(backends, touch, on, machine, maxEvents, progress);
    }

    /**
     * Chooses the machine.
     *
     * @param spec the machine
     * @return new options
     */
    public ReplayOptions withMachine(MachineSpec spec) {
        return new ReplayOptions(backends, touch, timing, spec, maxEvents, progress);
    }

    /**
     * Chooses who hears of progress.
     *
     * @param listener the listener
     * @return new options
     */
    public ReplayOptions withProgress(ReplayProgress listener) {
        return new ReplayOptions(backends, touch, timing, machine, maxEvents, listener);
    }

    /**
     * Stops early.
     *
     * @param events how many to replay at most
     * @return new options
     */
    public ReplayOptions withMaxEvents(long events) {
        return new ReplayOptions(backends, touch, timing, machine, events, progress);
    }
}
