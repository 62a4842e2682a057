package io.pagewalk.trace;

import io.pagewalk.dma.DmaDirection;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An event of the {@code dma} system that carries lists. Two are equal when their lists are, element by element.
 *
 * <p>The arrays are not copied: whoever gets an event must leave them as they are.
 */
@SuppressWarnings("ArrayRecordComponent") // lists of primitives, compared by content below
public sealed interface SgEvent extends DmaEvent {

    /**
     * Tells who moves the bytes.
     *
     * @return the direction given by the driver
     */
    DmaDirection direction();

    /**
     * {@code dma_map_sg}: a scatterlist was mapped. A failed one leaves no line at all.
     *
     * <p>The kernel prints at most 128 entries of each list; {@code fullNents} and {@code fullEnts} are the real
     * numbers.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param physAddrs physical address of each entry as the driver gave it
     * @param dmaAddrs address of each DMA segment
     * @param lengths bytes of each DMA segment, as many as {@code dmaAddrs}
     * @param fullNents entries the driver gave
     * @param fullEnts DMA segments after merging
     * @param truncated true when the lists are cut
     * @param attrs attribute bits
     */
    record MapSg(
            TraceHeader header,
            String device,
            DmaDirection direction,
            long[] physAddrs,
            long[] dmaAddrs,
            long[] lengths,
            int fullNents,
            int fullEnts,
            boolean truncated,
            long attrs)
            implements SgEvent {

        private Object[] fields() {
            return new Object[] {
                header, device, direction, physAddrs, dmaAddrs, lengths, fullNents, fullEnts, truncated, attrs
            };
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof MapSg that && Arrays.deepEquals(fields(), that.fields());
        }

        @Override
        public int hashCode() {
            return Arrays.deepHashCode(fields());
        }

        @Override
        public String toString() {
            return "MapSg" + Arrays.deepToString(fields());
        }
    }

    /**
     * {@code dma_unmap_sg}: a scatterlist is about to be unmapped. The line has neither sizes nor DMA addresses, and
     * its list is never cut.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param physAddrs physical address of each entry as the driver gave it
     * @param attrs attribute bits
     */
    record UnmapSg(TraceHeader header, String device, DmaDirection direction, long[] physAddrs, long attrs)
            implements SgEvent {

        private Object[] fields() {
            return new Object[] {header, device, direction, physAddrs, attrs};
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof UnmapSg that && Arrays.deepEquals(fields(), that.fields());
        }

        @Override
        public int hashCode() {
            return Arrays.deepHashCode(fields());
        }

        @Override
        public String toString() {
            return "UnmapSg" + Arrays.deepToString(fields());
        }
    }

    /**
     * {@code dma_map_sg_err}: mapping a scatterlist failed with an error that the kernel did not expect. Read by its
     * print format; no recorded sample has one.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param physAddrs physical address of each entry
     * @param errno the error, negative
     * @param attrs attribute bits
     */
    record MapSgError(
            TraceHeader header, String device, DmaDirection direction, long[] physAddrs, int errno, long attrs)
            implements SgEvent {

        private Object[] fields() {
            return new Object[] {header, device, direction, physAddrs, errno, attrs};
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof MapSgError that && Arrays.deepEquals(fields(), that.fields());
        }

        @Override
        public int hashCode() {
            return Arrays.deepHashCode(fields());
        }

        @Override
        public String toString() {
            return "MapSgError" + Arrays.deepToString(fields());
        }
    }

    /**
     * {@code dma_sync_sg_for_cpu} or {@code dma_sync_sg_for_device}. Read by their print format; no recorded sample has
     * one.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param dmaAddrs address of each DMA segment
     * @param lengths bytes of each DMA segment, as many as {@code dmaAddrs}
     * @param forCpu true when the CPU is to see the bytes, false when the device is
     */
    record SyncSg(
            TraceHeader header, String device, DmaDirection direction, long[] dmaAddrs, long[] lengths, boolean forCpu)
            implements SgEvent {

        private Object[] fields() {
            return new Object[] {header, device, direction, dmaAddrs, lengths, forCpu};
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof SyncSg that && Arrays.deepEquals(fields(), that.fields());
        }

        @Override
        public int hashCode() {
            return Arrays.deepHashCode(fields());
        }

        @Override
        public String toString() {
            return "SyncSg" + Arrays.deepToString(fields());
        }
    }

    /**
     * {@code dma_alloc_sgt}: a noncontiguous allocation. Read by its print format; no recorded sample has one. (In the
     * {@code name=value} form {@code dma_addr} is read as hexadecimal, as in all events that were recorded.)
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param dmaAddr the address handed out
     * @param sizeBytes bytes asked for
     * @param physAddrs physical address of each piece
     * @param attrs attribute bits
     */
    record AllocSgt(
            TraceHeader header,
            String device,
            DmaDirection direction,
            long dmaAddr,
            long sizeBytes,
            long[] physAddrs,
            long attrs)
            implements SgEvent {

        private Object[] fields() {
            return new Object[] {header, device, direction, dmaAddr, sizeBytes, physAddrs, attrs};
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof AllocSgt that && Arrays.deepEquals(fields(), that.fields());
        }

        @Override
        public int hashCode() {
            return Arrays.deepHashCode(fields());
        }

        @Override
        public String toString() {
            return "AllocSgt" + Arrays.deepToString(fields());
        }
    }

    /**
     * {@code dma_free_sgt}. Read by its print format; no recorded sample has one.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param dmaAddr the address given back
     * @param sizeBytes bytes as given at allocation
     * @param physAddrs physical address of each piece
     */
    record FreeSgt(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long[] physAddrs)
            implements SgEvent {

        private Object[] fields() {
            return new Object[] {header, device, direction, dmaAddr, sizeBytes, physAddrs};
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof FreeSgt that && Arrays.deepEquals(fields(), that.fields());
        }

        @Override
        public int hashCode() {
            return Arrays.deepHashCode(fields());
        }

        @Override
        public String toString() {
            return "FreeSgt" + Arrays.deepToString(fields());
        }
    }
}
