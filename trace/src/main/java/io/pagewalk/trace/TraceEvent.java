package io.pagewalk.trace;

/**
 * One event of a trace.
 *
 * <p>Addresses, sizes and masks are unsigned 64-bit numbers; sizes are in bytes. Events are immutable, but for the
 * arrays of {@link SgEvent}, which are handed out as they are.
 */
public sealed interface TraceEvent
        permits DmaEvent, IommuEvent, TraceEvent.SwiotlbBounced, TraceEvent.Mark, TraceEvent.LostEvents {

    /**
     * Tells who did it, where and when.
     *
     * @return the part of the line before the event
     */
    TraceHeader header();

    /**
     * {@code swiotlb_bounced}: a mapping is about to bounce. Written before the search for a slot, so also when the
     * pool turns out to be full.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param dmaMask the device's streaming DMA mask
     * @param devAddr what the DMA address would be without a bounce (not that of the slot)
     * @param sizeBytes bytes to bounce
     * @param forced true for {@code FORCE} ({@code swiotlb=force}), false for {@code NORMAL}
     */
    record SwiotlbBounced(TraceHeader header, String device, long dmaMask, long devAddr, long sizeBytes, boolean forced)
            implements TraceEvent {}

    /**
     * A line that user space wrote to {@code trace_marker}.
     *
     * @param header who, where and when
     * @param text what was written
     */
    record Mark(TraceHeader header, String text) implements TraceEvent {}

    /**
     * A gap: events that were recorded or due but are not in the file.
     *
     * @param header where the gap is; mostly without task and time
     * @param cpu the CPU whose events are missing, {@link TraceHeader#NO_CPU} for a ring buffer that wrapped (the
     *     header of the file then tells how many events of all CPUs are gone)
     * @param count how many events are missing, {@link #UNKNOWN_COUNT} when the file does not say
     */
    record LostEvents(TraceHeader header, int cpu, long count) implements TraceEvent {

        /** The count of a gap whose size the file does not tell. */
        public static final long UNKNOWN_COUNT = -1L;
    }
}
