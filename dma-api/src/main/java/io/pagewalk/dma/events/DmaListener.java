package io.pagewalk.dma.events;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * Told of every call of the DMA API on a machine, after a map and before an unmap does its work. All methods do nothing
 * by default. Calls come on the caller's thread; arguments are unsigned as in the API.
 */
public interface DmaListener {
    /**
     * A buffer was mapped, or could not be.
     *
     * @param device the device
     * @param cpu the CPU
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction the direction
     * @param dmaAddr the result, all ones for a failure
     */
    default void mappedPage(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {}

    /**
     * A buffer is about to be unmapped.
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     * @param direction the direction
     */
    default void unmappingPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {}

    /**
     * A list was mapped, or could not be. Memory of {@code dma_alloc_noncontiguous} comes as a list too, mapped to one
     * segment (dma-core:FE-64).
     *
     * @param device the device
     * @param cpu the CPU
     * @param sg the list; read it during the call only
     * @param nents the CPU's entries
     * @param direction the direction
     * @param result DMA segments, or a negated errno
     */
    default void mappedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int result) {}

    /**
     * A list is about to be unmapped.
     *
     * @param device the device
     * @param cpu the CPU
     * @param sg the list; read it during the call only
     * @param nents the CPU's entries
     * @param direction the direction
     */
    default void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {}

    /**
     * Coherent memory was allocated; not told of that of a device's own region (dma-core:FE-51).
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     */
    default void allocated(Device device, int cpu, long dmaAddr, long sizeBytes) {}

    /**
     * Coherent memory is about to be freed.
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     */
    default void freeing(Device device, int cpu, long dmaAddr, long sizeBytes) {}

    /**
     * Pages were allocated and mapped for streaming use, by {@code dma_alloc_pages}.
     *
     * @param device the device
     * @param cpu the CPU
     * @param physAddr the first page
     * @param sizeBytes length as asked for, not rounded (dma-core:FE-54)
     * @param direction the direction, possibly NONE
     * @param dmaAddr the DMA address
     */
    default void allocatedPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {}

    /**
     * Pages of {@link #allocatedPages} are about to be freed.
     *
     * @param device the device
     * @param cpu the CPU
     * @param physAddr the first page, as the caller says
     * @param sizeBytes length, as the caller says
     * @param direction the direction
     * @param dmaAddr the DMA address
     */
    default void freeingPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {}

    /**
     * A buffer is about to be bounced: the kernel's {@code swiotlb_bounced}, which comes before a slot is looked for,
     * and before {@link #mappedPage}.
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaMask the device's streaming mask, 0 when it has none
     * @param dmaAddr the DMA address that the buffer itself would have, all ones for none
     * @param sizeBytes length
     * @param force whether everything of the device is bounced
     */
    default void bounced(Device device, int cpu, long dmaMask, long dmaAddr, long sizeBytes, boolean force) {}
}
