package io.pagewalk.dma.spi;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import org.jspecify.annotations.Nullable;

/**
 * The driver side of a backend: what stands behind the front end for one device.
 *
 * <p>All addresses and sizes are unsigned. Calls of different CPUs may run at once. A call that fails notes the cause
 * in {@link Device#failure(int)} of its CPU and leaves the backend as it was, but for what the requirement says stays
 * moved. The front end has checked direction and streaming mask (dma-core:FE-1, FE-10).
 *
 * <p>{@link #mapPage}, {@link #unmapPage} and {@link #mapSg} are mandatory. Every other method answers by default what
 * the front end answers for an operation that is absent (dma-core:SEL-6); who overrides one of the four sync methods
 * overrides {@link #mayNeedSync} too.
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
    default void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {}

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
    default long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        device.failure(cpu).record(FailureReason.NO_OPERATION, Errno.ENOMEM, 0, 0, 0, 0);
        return Dma.DMA_MAPPING_ERROR;
    }

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
    default void unmapResource(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {}

    /**
     * Gives a mapped buffer, or a part, back to the CPU for the moment.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param dmaAddr first byte of the part
     * @param sizeBytes length of the part
     * @param direction the direction given to sync (dma-core:SWB-10)
     */
    default void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {}

    /**
     * Gives a mapped buffer, or a part, to the device again.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param dmaAddr first byte of the part
     * @param sizeBytes length of the part
     * @param direction the direction given to sync
     */
    default void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {}

    /**
     * {@link #syncForCpu} for each entry of a list.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param sg the list
     * @param nents the count given to map
     * @param direction the direction
     */
    default void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {}

    /**
     * {@link #syncForDevice} for each entry of a list.
     *
     * @param device the device
     * @param cpu the CPU that syncs
     * @param sg the list
     * @param nents the count given to map
     * @param direction the direction
     */
    default void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {}

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
    default @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        device.failure(cpu).record(FailureReason.NO_OPERATION, Errno.ENOMEM, 0, 0, 0, 0);
        return null;
    }

    /**
     * Frees coherent memory.
     *
     * @param device the device
     * @param cpu the CPU that frees
     * @param pages what {@link #allocCoherent} returned
     * @param attrs bits of {@code DmaAttrs}
     */
    default void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs) {}

    /**
     * {@code alloc_pages_op}: allocates contiguous pages, zeroed, and maps them for streaming use (dma-core:FE-54,
     * ALC-11).
     *
     * @param device the device; its coherent mask holds
     * @param cpu the CPU that allocates
     * @param sizeBytes length, a multiple of the page size; 0 when the caller's size wrapped, which fails
     * @param direction who moves the bytes; not validated (dma-core:TYP-6)
     * @param gfp bits of {@code Gfp}, none of which chooses a zone
     * @return the pages, or null with the cause noted
     */
    default @Nullable DmaPages allocPages(Device device, int cpu, long sizeBytes, DmaDirection direction, int gfp) {
        device.failure(cpu).record(FailureReason.NO_OPERATION, Errno.ENOMEM, 0, 0, 0, 0);
        return null;
    }

    /**
     * Frees what {@link #allocPages} allocated (dma-core:FE-55).
     *
     * @param device the device
     * @param cpu the CPU that frees
     * @param pages as the caller says they are, the size rounded up to pages
     * @param direction the direction of the allocation
     */
    default void freePages(Device device, int cpu, DmaPages pages, DmaDirection direction) {}

    /**
     * Allocates memory that is together on the bus and may lie apart physically (dma-core:FE-64, iommu:DALLOC-3,
     * DALLOC-4).
     *
     * <p>The table has an entry for each physical run. Its first entry alone has a DMA side: the address of all, and
     * all their bytes; {@code nents} is 1. By default it is one entry from {@link #allocPages}, as without an IOMMU.
     *
     * @param device the device; its coherent mask holds
     * @param cpu the CPU that allocates
     * @param sizeBytes length as the caller asked for it
     * @param direction who moves the bytes; not validated (dma-core:TYP-6)
     * @param gfp bits of {@code Gfp}; none chooses a zone unless {@link #isDmaIommu}
     * @param attrs {@code ALLOC_SINGLE_PAGES} or nothing
     * @return the table, which is the caller's from then on, or null with the cause noted
     */
    default @Nullable SgTable allocNoncontiguous(
            Device device, int cpu, long sizeBytes, DmaDirection direction, int gfp, int attrs) {
        DmaPages pages = allocPages(device, cpu, Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE), direction, gfp);
        return pages == null ? null : pages.toSgTable();
    }

    /**
     * Frees what {@link #allocNoncontiguous} allocated (dma-core:FE-65).
     *
     * @param device the device
     * @param cpu the CPU that frees
     * @param sizeBytes length as the caller asked for it
     * @param sg the table
     * @param direction the direction of the allocation
     */
    default void freeNoncontiguous(Device device, int cpu, long sizeBytes, SgTable sg, DmaDirection direction) {
        long roundedBytes = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
        freePages(device, cpu, new DmaPages(sg.pageAddr(0), sg.dmaAddr(0), roundedBytes), direction);
    }

    /**
     * {@code dma_get_sgtable}: describes coherent memory as a list for the CPU (dma-core:FE-70).
     *
     * @param device the device
     * @param sg an empty table, which gets the entries and no DMA side
     * @param pages coherent memory
     * @param sizeBytes how much of it
     * @param attrs bits of {@code DmaAttrs}
     * @return 0, or a negated errno
     */
    default int getSgTable(Device device, SgTable sg, CoherentPages pages, long sizeBytes, int attrs) {
        return -Errno.ENXIO;
    }

    /**
     * {@code dma_mmap}: shows coherent memory to a process (dma-core:FE-71). The front end asks regions of coherent
     * memory before (dma-core:COH-7).
     *
     * @param device the device
     * @param vma where the process wants it, and which part
     * @param pages coherent memory
     * @param sizeBytes how much of it there is, as the caller says
     * @param attrs bits of {@code DmaAttrs}
     * @return what became of it; {@link UserMapping#ofContiguous} and {@link UserMapping#ofPages} check the bounds
     */
    default UserMapping mmap(Device device, UserVma vma, CoherentPages pages, long sizeBytes, int attrs) {
        return UserMapping.failed(-Errno.ENXIO);
    }

    /**
     * {@code dma_can_mmap} (dma-core:MSK-14).
     *
     * @param device the device
     * @return whether {@link #mmap} may succeed
     */
    default boolean canMmap(Device device) {
        return false;
    }

    /**
     * Whether this is the kernel's default IOMMU path, {@code dev->dma_iommu} (dma-core:DEV-11, SEL-2).
     *
     * @param device the device
     * @return true while an IOMMU translates for the device in a domain of the DMA API; false behind an identity domain
     */
    default boolean isDmaIommu(Device device) {
        return false;
    }

    /**
     * Whether a mask can be served (dma-core:MSK-3).
     *
     * @param device the device
     * @param mask the mask
     * @return true when set_mask may store it
     */
    default boolean isMaskSupported(Device device, long mask) {
        return true;
    }

    /**
     * Whether sync calls of this device can ever have work to do once a mask was set (dma-core:MSK-8).
     *
     * @param device the device
     * @return false when the front end may skip them until the first bounce
     */
    default boolean mayNeedSync(Device device) {
        return false;
    }

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
    default long maxMappingSize(Device device) {
        return -1L;
    }

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
     * Whether mappings of the device may be bounced, {@code is_swiotlb_active} (dma-core:DBG-22).
     *
     * @param device the device
     * @return true when it has a pool of bounce buffers
     */
    default boolean isSwiotlbActive(Device device) {
        return false;
    }

    /**
     * The mask that reaches all memory (dma-core:MSK-2).
     *
     * @param device the device
     * @return the mask
     */
    default long requiredMask(Device device) {
        return 0xffff_ffffL;
    }

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
