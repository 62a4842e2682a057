package io.pagewalk.dma;

import io.pagewalk.dma.scatterlist.SgTable;

/**
 * An architecture's escape from IOMMU and own operations to direct mapping, for single calls:
 * {@code ARCH_HAS_DMA_MAP_DIRECT} (dma-core:SEL-5). Resources and syncs never ask it. Calls come from several threads.
 */
public interface ArchMapDirect {
    /**
     * Whether a map of a buffer goes direct.
     *
     * @param device the device
     * @param endPhysAddr the byte behind the buffer, modulo 2^64
     * @return true to go direct
     */
    boolean mapsPage(Device device, long endPhysAddr);

    /**
     * Whether an unmap of a buffer goes direct.
     *
     * @param device the device
     * @param endDmaAddr the byte behind it on the bus, modulo 2^64
     * @return true to go direct
     */
    boolean unmapsPage(Device device, long endDmaAddr);

    /**
     * Whether a map of a list goes direct.
     *
     * @param device the device
     * @param sg the list
     * @param nents how many entries
     * @return true to go direct; by default when each entry would
     */
    default boolean mapsSg(Device device, SgTable sg, int nents) {
        for (int i = 0; i < nents; i++) {
            if (!mapsPage(device, sg.physAddr(i) + sg.lengthBytes(i))) {
                return false;
            }
        }
        return true;
    }

    /**
     * Whether an unmap of a list goes direct.
     *
     * @param device the device
     * @param sg the list
     * @param nents how many entries
     * @return true to go direct; by default when each segment would
     */
    default boolean unmapsSg(Device device, SgTable sg, int nents) {
        for (int i = 0; i < nents; i++) {
            if (!unmapsPage(device, sg.dmaAddr(i) + sg.dmaLengthBytes(i))) {
                return false;
            }
        }
        return true;
    }
}
