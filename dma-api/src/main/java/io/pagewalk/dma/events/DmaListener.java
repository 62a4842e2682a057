package io.pagewalk.dma.events;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * Told of every call of the DMA API on a machine: of a map after its work, of an unmap before it and, for buffers,
 * after it as well. All methods do nothing by default, or what the more general one does. Calls come on the caller's
 * thread; arguments are unsigned as in the API.
 */
public interface DmaListener {
    /**
     * Lets another one listen too.
     *
     * @param other told of each call after this one
     * @return both in one
     */
    default DmaListener and(DmaListener other) {
        return new ListenerPair(this, other);
    }

    /**
     * A buffer is about to be mapped by its kernel address, which is not one of the vmalloc area; {@link #mappedPage}
     * follows.
     *
     * @param device the device
     * @param cpu the CPU
     * @param virtAddr the address
     * @param sizeBytes length
     */
    default void mappingSingle(Device device, int cpu, long virtAddr, long sizeBytes) {}

    /**
     * A buffer was mapped, or could not be.
     *
     * @param device the device
     * @param cpu the CPU
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction the direction
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @param dmaAddr the result, all ones for a failure
     */
    default void mappedPage(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {}

    /**
     * Device memory was mapped, or could not be; a buffer by default.
     *
     * @param device the device
     * @param cpu the CPU
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction the direction
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @param dmaAddr the result, all ones for a failure
     */
    default void mappedResource(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        mappedPage(device, cpu, physAddr, sizeBytes, direction, attrs, dmaAddr);
    }

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
     * A buffer was unmapped.
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     * @param direction the direction
     */
    default void unmappedPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {}

    /**
     * Device memory is about to be unmapped; a buffer by default.
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     * @param direction the direction
     */
    default void unmappingResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        unmappingPage(device, cpu, dmaAddr, sizeBytes, direction);
    }

    /**
     * Device memory was unmapped; a buffer by default.
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     * @param direction the direction
     */
    default void unmappedResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        unmappedPage(device, cpu, dmaAddr, sizeBytes, direction);
    }

    /**
     * A list was mapped, or could not be. Memory of {@code dma_alloc_noncontiguous} comes as a list too, mapped to one
     * segment (dma-core:FE-64).
     *
     * @param device the device
     * @param cpu the CPU
     * @param sg the list; read it during the call only
     * @param nents the CPU's entries
     * @param direction the direction
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     * @param result DMA segments, or a negated errno
     */
    default void mappedSg(
            Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {}

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
     * @param cpuAddr its kernel address, or what stands for it
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     * @param attrs bits of {@link io.pagewalk.dma.DmaAttrs}
     */
    default void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {}

    /**
     * Coherent memory is about to be freed.
     *
     * @param device the device
     * @param cpu the CPU
     * @param cpuAddr its kernel address, as the caller says
     * @param dmaAddr its DMA address, as the caller says
     * @param sizeBytes length, as the caller says
     */
    default void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {}

    /**
     * Coherent memory of the device's own region was allocated, which the kernel's dma-debug is not told of
     * (dma-core:FE-51).
     *
     * @param device the device
     * @param cpu the CPU
     * @param cpuAddr its kernel address
     * @param dmaAddr its DMA address
     * @param sizeBytes length
     */
    default void allocatedInRegion(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {}

    /**
     * Coherent memory of the device's own region was freed.
     *
     * @param device the device
     * @param cpu the CPU
     * @param cpuAddr its kernel address
     * @param dmaAddr its DMA address
     * @param sizeBytes length, as it was allocated
     */
    default void freedInRegion(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {}

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

    /**
     * A part of a mapping was synced; not told of where sync calls are skipped (dma-core:FE-40).
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaAddr first byte
     * @param sizeBytes length
     * @param direction the direction
     * @param forCpu whether the CPU is to see the bytes, else the device
     */
    default void syncedSingle(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu) {}

    /**
     * A list was synced; not told of where sync calls are skipped (dma-core:FE-40).
     *
     * @param device the device
     * @param cpu the CPU
     * @param sg the list; read it during the call only
     * @param nents the CPU's entries
     * @param direction the direction
     * @param forCpu whether the CPU is to see the bytes, else the device
     */
    default void syncedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, boolean forCpu) {}

    /**
     * The driver asks {@code dma_mapping_error} about an address.
     *
     * @param device the device
     * @param cpu the CPU
     * @param dmaAddr the address
     */
    default void checkingError(Device device, int cpu, long dmaAddr) {}

    /**
     * A page went back to its allocator while a mapping leads to it. Told of on a machine with a {@link MappingLedger},
     * once for each page and mapping, before anybody else can have the page.
     *
     * @param event which page and which mapping
     */
    default void freedWhileMapped(FreedWhileMapped event) {}

    /**
     * A driver let go of its device, and what is freed by itself then is freed.
     *
     * @param device the device
     */
    default void driverUnbound(Device device) {}
}
