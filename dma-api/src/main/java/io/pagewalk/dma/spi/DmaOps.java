package io.pagewalk.dma.spi;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import org.jspecify.annotations.Nullable;

/**
 * The driver side of a backend: what stands behind the front end for one device.
 *
 * <p>All addresses and sizes are unsigned. Calls of different CPUs may run at once. A call that fails notes the cause
 * in {@link Device#failure(int)} of its CPU and leaves the backend as it was, but for what the requirement says stays
 * moved. The front end has checked direction and streaming mask (dma-core:FE-1, FE-10).
 */
public interface DmaOps {
    /**
     * Maps one buffer.
     *
     * @param device the device
     * @param cpu the CPU that maps
     * @param physAddr first byte
     * @param sizeBytes length; 0 is passed on (dma-core:FE-2)
     * @param direction who moves the bytes
     * @param attrs bits of {@code DmaAttrs}
     * @return the DMA address, or {@code Dma.DMA_MAPPING_ERROR}
     */
    long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs);

    /**
     * Unmaps what {@link #mapPage} mapped.
     *
     * @param device the device
     * @param cpu the CPU that unmaps
     * @param dmaAddr what map returned
     * @param sizeBytes what was mapped
     * @param direction the direction of the map
     * @param attrs bits of {@code DmaAttrs}
     */
    void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs);

    /**
     * Maps the first entries of a list and fills in their DMA side.
     *
     * @param device the device
     * @param cpu the CPU that maps
     * @param sg the list
     * @param nents how many entries
     * @param direction who moves the bytes
     * @param attrs bits of {@code DmaAttrs}
     * @return the number of DMA segments, or a negated errno
     */
    int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs);

    /**
     * Unmaps a list.
     *
     * @param device the device
     * @param cpu the CPU that unmaps
     * @param sg the list
     * @param nents the count given to map
     * @param direction the direction of the map
     * @param attrs bits of {@code DmaAttrs}
     */
    void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs);

    /**
     * Maps a resource such as another device's registers, without bounce or cache work.
     *
     * @param device the device
     * @param cpu the CPU that maps
     * @param physAddr first byte
     * @param sizeBytes length
     * @param direction who moves the bytes
     * @param attrs bits of {@code DmaAttrs}
     * @return the DMA address, or {@code Dma.DMA_MAPPING_ERROR}
     */
    long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs);

    /**
     * Unmaps a resource.
     *
     * @param device the device
     * @param cpu the CPU that unmaps
     * @param dmaAddr what map returned
     * @param sizeBytes what was mapped
     * @param direction the direction of the map
     * @param attrs bits of {@code DmaAttrs}
     */
    void unmapResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs);

    /**
     * Gives a mapped buffer, or a part, back to the CPU for the moment.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param dmaAddr first byte of the part
     * @param sizeBytes length of the part
     * @param direction the direction given to sync (dma-core:SWB-10)
     */
    void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction);

    /**
     * Gives a mapped buffer, or a part, to the device again.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param dmaAddr first byte of the part
     * @param sizeBytes length of the part
     * @param direction the direction given to sync
     */
    void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction);

    /**
     * {@link #syncForCpu} for each entry of a list.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param sg the list
     * @param nents the count given to map
     * @param direction the direction
     */
    void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction);

    /**
     * {@link #syncForDevice} for each entry of a list.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param sg the list
     * @param nents the count given to map
     * @param direction the direction
     */
    void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction);

    /**
     * Allocates coherent memory, zeroed.
     *
     * @param device the device; its coherent mask holds
     * @param cpu the CPU that allocates
     * @param sizeBytes length
     * @param gfp bits of {@code Gfp}, zones stripped by the front end (dma-core:FE-52)
     * @param attrs bits of {@code DmaAttrs}
     * @return the pages, or null with the cause noted
     */
    @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs);

    /**
     * Frees coherent memory.
     *
     * @param device the device
     * @param cpu the CPU that frees
     * @param pages what {@link #allocCoherent} returned
     * @param attrs bits of {@code DmaAttrs}
     */
    void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs);

    /**
     * Whether a mask can be served (dma-core:MSK-3).
     *
     * @param device the device
     * @param mask the mask
     * @return true when set_mask may store it
     */
    boolean isMaskSupported(Device device, long mask);

    /**
     * Whether sync calls of this device can ever have work to do once a mask was set (dma-core:MSK-8).
     *
     * @param device the device
     * @return false when the front end may skip them until the first bounce
     */
    boolean mayNeedSync(Device device);

    /**
     * Whether sync calls for an address have work to do, asked only of a device whose sync calls are not skipped
     * (dma-core:FE-43).
     *
     * @param device the device
     * @param dmaAddr what a map returned
     * @return true unless the address is known to need none
     */
    default boolean needsSync(Device device, long dmaAddr) {
        return true;
    }

    /**
     * The largest single mapping (dma-core:MSK-11).
     *
     * @param device the device
     * @return bytes, all ones when unlimited
     */
    long maxMappingSize(Device device);

    /**
     * The mapping size up to which mapping is cheapest (dma-core:MSK-12).
     *
     * @param device the device
     * @return bytes, all ones for no hint
     */
    default long optMappingSize(Device device) {
        return -1L;
    }

    /**
     * Whether every page of RAM has a DMA address, whatever the mask (dma-core:MSK-9, MSK-10).
     *
     * @param device the device
     * @return false when dma-ranges leave RAM out
     */
    default boolean isAllRamMapped(Device device) {
        return true;
    }

    /**
     * The mask that reaches all memory (dma-core:MSK-2).
     *
     * @param device the device
     * @return the mask
     */
    long requiredMask(Device device);

    /**
     * The boundary at which a list's segments merge (dma-core:MSK-13).
     *
     * @param device the device
     * @return granule - 1, or 0 when segments never merge
     */
    default long mergeBoundary(Device device) {
        return 0;
    }
}
