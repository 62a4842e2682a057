package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A call of the DMA API as {@link DmaDebug} is told of it: its one input, whether the calls are live or recorded.
 * Addresses and sizes are unsigned. Immutable.
 */
public sealed interface DmaCall {
    /** What stands for a physical address that the input does not tell. */
    long UNKNOWN_PHYS_ADDR = -1L;

    /**
     * Who called.
     *
     * @return device, CPU, time
     */
    Caller caller();

    /**
     * {@code dma_map_single} was given a pointer; {@link MapPage} follows (dma-core:DBG-10).
     *
     * @param caller who
     * @param virtAddr the pointer
     * @param sizeBytes length
     */
    record MapPointer(Caller caller, long virtAddr, long sizeBytes) implements DmaCall {}

    /**
     * A buffer was mapped, or could not be (dma-core:DBG-11).
     *
     * @param caller who
     * @param physAddr first byte of the buffer, never of a bounce buffer
     * @param sizeBytes length
     * @param direction the direction
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @param dmaAddr the result, all ones for a failure
     */
    record MapPage(Caller caller, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr)
            implements DmaCall {}

    /**
     * A buffer was unmapped.
     *
     * @param caller who
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     * @param direction the direction
     */
    record UnmapPage(Caller caller, long dmaAddr, long sizeBytes, DmaDirection direction) implements DmaCall {}

    /**
     * Device memory was mapped, or could not be (dma-core:DBG-13).
     *
     * @param caller who
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction the direction
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @param dmaAddr the result, all ones for a failure
     */
    record MapResource(Caller caller, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr)
            implements DmaCall {}

    /**
     * Device memory was unmapped.
     *
     * @param caller who
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     * @param direction the direction
     */
    record UnmapResource(Caller caller, long dmaAddr, long sizeBytes, DmaDirection direction) implements DmaCall {}

    /**
     * A list was mapped (dma-core:DBG-12); one that could not be is no call.
     *
     * @param caller who
     * @param segments the entries that are known, in order
     * @param nents the count that was given to map
     * @param mappedEnts DMA segments
     * @param direction the direction
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @param limits what the device can take, or null when the input does not say
     */
    record MapSg(
            Caller caller,
            List<Segment> segments,
            int nents,
            int mappedEnts,
            DmaDirection direction,
            int attrs,
            @Nullable SegmentLimits limits)
            implements DmaCall {
        /**
         * Copies the list.
         *
         * @param caller who
         * @param segments the entries that are known, in order
         * @param nents the count that was given to map
         * @param mappedEnts DMA segments
         * @param direction the direction
         * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
         * @param limits what the device can take, or null when the input does not say
         * @throws IllegalArgumentException when a count is negative
         */
        public MapSg {
            Segment.requireCount("entries", nents);
            Segment.requireCount("mapped entries", mappedEnts);
            segments = List.copyOf(segments);
        }
    }

    /**
     * A list is about to be unmapped (dma-core:DBG-49).
     *
     * @param caller who
     * @param segments the entries that are known, in order, as they are now
     * @param nents the count that is given to unmap
     * @param direction the direction
     */
    record UnmapSg(Caller caller, List<Segment> segments, int nents, DmaDirection direction) implements DmaCall {
        /**
         * Copies the list.
         *
         * @param caller who
         * @param segments the entries that are known, in order, as they are now
         * @param nents the count that is given to unmap
         * @param direction the direction
         * @throws IllegalArgumentException when a count is negative
         */
        public UnmapSg {
            Segment.requireCount("entries", nents);
            segments = List.copyOf(segments);
        }
    }

    /**
     * Memory was allocated: coherent, or pages that come mapped (dma-core:DBG-14, DBG-15).
     *
     * @param caller who
     * @param type {@link MappingType#COHERENT} or {@link MappingType#NONCOHERENT}
     * @param physAddr first byte, or {@link #UNKNOWN_PHYS_ADDR}
     * @param sizeBytes length as asked for
     * @param direction the direction; BIDIRECTIONAL for coherent memory
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @param dmaAddr the DMA address
     */
    record Alloc(
            Caller caller,
            MappingType type,
            long physAddr,
            long sizeBytes,
            DmaDirection direction,
            int attrs,
            long dmaAddr)
            implements DmaCall {}

    /**
     * Memory is about to be freed.
     *
     * @param caller who
     * @param type {@link MappingType#COHERENT} or {@link MappingType#NONCOHERENT}
     * @param physAddr first byte as the caller says, or {@link #UNKNOWN_PHYS_ADDR}
     * @param sizeBytes length as the caller says
     * @param direction the direction; BIDIRECTIONAL for coherent memory
     * @param dmaAddr the DMA address as the caller says
     */
    record Free(Caller caller, MappingType type, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr)
            implements DmaCall {}

    /**
     * A part of a mapping was synced (dma-core:DBG-66).
     *
     * @param caller who
     * @param dmaAddr first byte
     * @param sizeBytes length
     * @param direction the direction
     * @param forCpu whether the CPU is to see the bytes, else the device
     */
    record SyncSingle(Caller caller, long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu)
            implements DmaCall {}

    /**
     * A list was synced (dma-core:DBG-67).
     *
     * @param caller who
     * @param segments the entries that are known, in order
     * @param nents the count that was given to sync
     * @param direction the direction
     * @param forCpu whether the CPU is to see the bytes, else the device
     */
    record SyncSg(Caller caller, List<Segment> segments, int nents, DmaDirection direction, boolean forCpu)
            implements DmaCall {
        /**
         * Copies the list.
         *
         * @param caller who
         * @param segments the entries that are known, in order
         * @param nents the count that was given to sync
         * @param direction the direction
         * @param forCpu whether the CPU is to see the bytes, else the device
         * @throws IllegalArgumentException when a count is negative
         */
        public SyncSg {
            Segment.requireCount("entries", nents);
            segments = List.copyOf(segments);
        }
    }

    /**
     * {@code dma_mapping_error} was asked about an address (dma-core:DBG-30).
     *
     * @param caller who
     * @param dmaAddr the address
     */
    record MappingError(Caller caller, long dmaAddr) implements DmaCall {}

    /**
     * A driver was unbound from its device (dma-core:DBG-70).
     *
     * @param caller the device
     */
    record DriverUnbound(Caller caller) implements DmaCall {}

    /**
     * A page goes back to the page allocator; looked at by {@link DmaDebugProfile#EVERYTHING} alone.
     *
     * @param caller who; no device
     * @param physAddr the page
     */
    record PageFreed(Caller caller, long physAddr) implements DmaCall {}

    /**
     * The CPU reads or writes memory; looked at by {@link DmaDebugProfile#EVERYTHING} alone.
     *
     * @param caller who; no device
     * @param physAddr first byte
     * @param sizeBytes length
     */
    record CpuTouch(Caller caller, long physAddr, long sizeBytes) implements DmaCall {}

    /**
     * Calls are missing from the input from here on: everything live is forgotten, and from now on an address that is
     * not known is nothing to report.
     *
     * @param caller no device
     */
    record Gap(Caller caller) implements DmaCall {}
}
