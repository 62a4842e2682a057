package io.pagewalk.trace.workload;

import io.pagewalk.dma.DmaDirection;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One call of the DMA API as a driver made it on the recording machine, with physical addresses in place of the
 * recorded DMA addresses, so that it can be made again on any backend.
 *
 * <p>Whatever ends or syncs a mapping or an allocation names it by the id that its start gave it. Ids count up from 0
 * and are never used twice; each is ended at most once. Immutable, but for the arrays of {@link Map}, which are handed
 * out as they are.
 */
public sealed interface Operation {

    /** What was mapped. */
    enum Kind {
        /** One physically contiguous buffer. */
        PAGE,
        /** A scatterlist. */
        SG
    }

    /**
     * Tells where it comes from.
     *
     * @return line, CPU and time
     */
    Origin origin();

    /**
     * Names the device.
     *
     * @return the device's name as recorded
     */
    String device();

    /** An operation on a mapping or an allocation that an earlier one started. */
    sealed interface OfLive extends Operation {
        /**
         * Names what it is about.
         *
         * @return the id of the {@link Map} or {@link Alloc}
         */
        long id();
    }

    /**
     * {@code dma_map_page} or {@code dma_map_sg}.
     *
     * @param origin where it comes from
     * @param id the new mapping's id
     * @param device name of the device
     * @param direction who moves the bytes
     * @param kind page or list
     * @param physAddrs physical address of each segment, at least one
     * @param lengthsBytes bytes of each segment
     * @param attrs attribute bits
     * @param failedWhenRecorded true when the recording machine could not map it: it is to be tried and unmapped at
     *     once, and nothing more will be said of its id
     */
    @SuppressWarnings("ArrayRecordComponent") // lists of primitives, compared by content below
    record Map(
            Origin origin,
            long id,
            String device,
            DmaDirection direction,
            Kind kind,
            long[] physAddrs,
            long[] lengthsBytes,
            int attrs,
            boolean failedWhenRecorded)
            implements Operation {

        /**
         * Adds up the segments.
         *
         * @return bytes of the whole mapping
         */
        public long sizeBytes() {
            long sum = 0;
            for (long length : lengthsBytes) {
                sum += length;
            }
            return sum;
        }

        private Object[] fields() {
            return new Object[] {origin, id, device, direction, kind, physAddrs, lengthsBytes, attrs, failedWhenRecorded
            };
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Map that && Arrays.deepEquals(fields(), that.fields());
        }

        @Override
        public int hashCode() {
            return Arrays.deepHashCode(fields());
        }

        @Override
        public String toString() {
            return "Map" + Arrays.deepToString(fields());
        }
    }

    /**
     * The end of a mapping.
     *
     * @param origin where it comes from
     * @param id the mapping
     * @param device name of the device
     * @param attrs attribute bits
     * @param implied true when the trace has no such line: a later map of the same address shows that it was lost
     */
    record Unmap(Origin origin, long id, String device, int attrs, boolean implied) implements OfLive {}

    /**
     * The CPU is to see what the device wrote.
     *
     * @param origin where it comes from
     * @param id the mapping
     * @param device name of the device
     * @param offsetBytes where the part begins, counted over all segments
     * @param sizeBytes bytes of the part
     */
    record SyncForCpu(Origin origin, long id, String device, long offsetBytes, long sizeBytes) implements OfLive {}

    /**
     * The device is to see what the CPU wrote.
     *
     * @param origin where it comes from
     * @param id the mapping
     * @param device name of the device
     * @param offsetBytes where the part begins, counted over all segments
     * @param sizeBytes bytes of the part
     */
    record SyncForDevice(Origin origin, long id, String device, long offsetBytes, long sizeBytes) implements OfLive {}

    /**
     * A coherent allocation.
     *
     * @param origin where it comes from
     * @param id the new allocation's id
     * @param device name of the device
     * @param sizeBytes bytes asked for
     * @param attrs attribute bits
     * @param failedWhenRecorded true when the recording machine gave nothing: to be tried and freed at once
     */
    record Alloc(Origin origin, long id, String device, long sizeBytes, int attrs, boolean failedWhenRecorded)
            implements Operation {}

    /**
     * The end of a coherent allocation.
     *
     * @param origin where it comes from
     * @param id the allocation
     * @param device name of the device
     * @param implied true when the trace has no such line
     */
    record Free(Origin origin, long id, String device, boolean implied) implements OfLive {}

    /**
     * No call, but news: the trace tells a device's streaming DMA mask. It comes before the mapping in which it shows.
     *
     * @param origin where it comes from
     * @param device name of the device
     * @param mask the mask
     */
    record LearnedMask(Origin origin, String device, long mask) implements Operation {}
}
