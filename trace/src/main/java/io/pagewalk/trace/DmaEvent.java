package io.pagewalk.trace;

import io.pagewalk.dma.DmaDirection;

/**
 * An event of the {@code dma} system.
 *
 * <p>{@code attrs} are the kernel's attribute bits ({@code NO_WARN} is bit 8). A {@code dmaAddr} of -1 is
 * {@code DMA_MAPPING_ERROR}: the mapping failed and no unmap follows.
 */
public sealed interface DmaEvent extends TraceEvent
        permits SgEvent,
                DmaEvent.MapPage,
                DmaEvent.UnmapPage,
                DmaEvent.MapResource,
                DmaEvent.UnmapResource,
                DmaEvent.SyncSingle,
                DmaEvent.CoherentAlloc,
                DmaEvent.CoherentFree,
                DmaEvent.AllocPages,
                DmaEvent.FreePages,
                DmaEvent.AllocSgtError {

    /**
     * Names the device.
     *
     * @return the device's name as the kernel prints it
     */
    String device();

    /**
     * {@code dma_map_page}: a streaming mapping was made, or failed.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param dmaAddr the address handed out, -1 on failure
     * @param sizeBytes bytes mapped
     * @param physAddr physical address of the buffer
     * @param attrs attribute bits
     */
    record MapPage(
            TraceHeader header,
            String device,
            DmaDirection direction,
            long dmaAddr,
            long sizeBytes,
            long physAddr,
            long attrs)
            implements DmaEvent {}

    /**
     * {@code dma_unmap_page}: a streaming mapping is gone.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moved the bytes
     * @param dmaAddr the address given back
     * @param sizeBytes bytes unmapped
     * @param attrs attribute bits
     */
    record UnmapPage(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long attrs)
            implements DmaEvent {}

    /**
     * {@code dma_map_resource}: a mapping of something that is not memory. Read by its print format; no recorded sample
     * has one.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param dmaAddr the address handed out, -1 on failure
     * @param sizeBytes bytes mapped
     * @param physAddr physical address of the resource
     * @param attrs attribute bits
     */
    record MapResource(
            TraceHeader header,
            String device,
            DmaDirection direction,
            long dmaAddr,
            long sizeBytes,
            long physAddr,
            long attrs)
            implements DmaEvent {}

    /**
     * {@code dma_unmap_resource}. Read by its print format; no recorded sample has one.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moved the bytes
     * @param dmaAddr the address given back
     * @param sizeBytes bytes unmapped
     * @param attrs attribute bits
     */
    record UnmapResource(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long attrs)
            implements DmaEvent {}

    /**
     * {@code dma_sync_single_for_cpu} or {@code dma_sync_single_for_device} (the latter read by its print format; no
     * recorded sample has one).
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param dmaAddr first address synced
     * @param sizeBytes bytes synced
     * @param forCpu true when the CPU is to see the bytes, false when the device is
     */
    record SyncSingle(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, boolean forCpu)
            implements DmaEvent {}

    /**
     * {@code dma_alloc}: a coherent allocation. The kernel's virtual address is left out: it is hashed or of no use
     * outside that kernel.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param dmaAddr the address handed out
     * @param sizeBytes bytes asked for, not the whole pages used
     * @param attrs attribute bits
     */
    record CoherentAlloc(TraceHeader header, String device, long dmaAddr, long sizeBytes, long attrs)
            implements DmaEvent {}

    /**
     * {@code dma_free}: a coherent allocation is about to go. Written before the kernel's check for a null pointer, so
     * a free of nothing shows with address and size 0.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param dmaAddr the address given back
     * @param sizeBytes bytes as given at allocation
     * @param attrs attribute bits
     */
    record CoherentFree(TraceHeader header, String device, long dmaAddr, long sizeBytes, long attrs)
            implements DmaEvent {}

    /**
     * {@code dma_alloc_pages}. Read by its print format; no recorded sample has one.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moves the bytes
     * @param dmaAddr the address handed out, 0 on failure
     * @param sizeBytes bytes asked for
     * @param attrs attribute bits
     */
    record AllocPages(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long attrs)
            implements DmaEvent {}

    /**
     * {@code dma_free_pages}. Read by its print format; no recorded sample has one.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who moved the bytes
     * @param dmaAddr the address given back
     * @param sizeBytes bytes as given at allocation
     * @param attrs attribute bits
     */
    record FreePages(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long attrs)
            implements DmaEvent {}

    /**
     * {@code dma_alloc_sgt_err}: a noncontiguous allocation failed. Read by its print format; no recorded sample has
     * one.
     *
     * @param header who, where and when
     * @param device name of the device
     * @param direction who would move the bytes
     * @param dmaAddr as printed
     * @param sizeBytes bytes asked for
     * @param attrs attribute bits
     */
    record AllocSgtError(
            TraceHeader header, String device, DmaDirection direction, long dmaAddr, long sizeBytes, long attrs)
            implements DmaEvent {}
}
