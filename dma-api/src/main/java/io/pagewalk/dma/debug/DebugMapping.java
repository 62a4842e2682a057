package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * A mapping or allocation as dma-debug recorded it (dma-core:DBG-2). Of a list there is one for each DMA segment.
 *
 * @param device the device, or null
 * @param type the family of the call that made it
 * @param dmaAddr first byte
 * @param sizeBytes length
 * @param direction the direction
 * @param physAddr the physical address, or {@link DmaCall#UNKNOWN_PHYS_ADDR}
 * @param callEnts the count of entries given to map a list, else 0
 * @param mappedEnts the DMA segments of the list, else 0
 * @param errorCheck whether {@code dma_mapping_error} was asked
 * @param owner who it is for, or null
 * @param site where it was made, or null
 * @param sinceNanos when it was made
 */
public record DebugMapping(
        @Nullable DebugDevice device,
        MappingType type,
        long dmaAddr,
        long sizeBytes,
        DmaDirection direction,
        long physAddr,
        int callEnts,
        int mappedEnts,
        ErrorCheck errorCheck,
        @Nullable String owner,
        @Nullable String site,
        long sinceNanos) {

    /**
     * Says it in a phrase.
     *
     * @return such as {@code single mapping 0x1000+0x20 TO_DEVICE of fio-326 (line 12)}
     */
    public String describe() {
        return type.kernelName() + " mapping " + Addresses.hexRange(dmaAddr, sizeBytes) + " " + direction
                + (owner == null ? "" : " of " + owner) + (site == null ? "" : " (" + site + ")");
    }
}
