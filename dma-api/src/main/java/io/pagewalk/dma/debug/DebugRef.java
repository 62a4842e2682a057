package io.pagewalk.dma.debug;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * What a call says of the mapping that it is about.
 *
 * @param device the device, or null
 * @param type the family of the call
 * @param dmaAddr first byte
 * @param sizeBytes length
 * @param direction the direction
 * @param physAddr physical address of memory that is freed, else {@link DmaCall#UNKNOWN_PHYS_ADDR}
 * @param callEnts the count of entries given to a call on a list, else 0
 */
public record DebugRef(
        @Nullable DebugDevice device,
        MappingType type,
        long dmaAddr,
        long sizeBytes,
        DmaDirection direction,
        long physAddr,
        int callEnts) {

    static DebugRef single(
            Caller caller, MappingType type, long dmaAddr, long sizeBytes, DmaDirection direction, long physAddr) {
        return new DebugRef(caller.device(), type, dmaAddr, sizeBytes, direction, physAddr, 0);
    }

    static DebugRef sg(Caller caller, Segment segment, DmaDirection direction, int nents) {
        return new DebugRef(
                caller.device(),
                MappingType.SCATTER_GATHER,
                segment.dmaAddr(),
                segment.dmaLengthBytes(),
                direction,
                segment.physAddr(),
                nents);
    }

    @Override
    public String toString() {
        return type.kernelName() + " " + Addresses.hexRange(dmaAddr, sizeBytes) + " " + direction;
    }
}
