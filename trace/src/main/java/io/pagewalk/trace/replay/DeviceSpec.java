package io.pagewalk.trace.replay;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * What a machine file says of one device; null where it says nothing.
 *
 * @param maskBits width of the streaming and the coherent DMA mask, 1 to 64
 * @param minAlignMask address bits that a bounce must keep, unsigned 32-bit
 * @param maxSegmentBytes largest DMA segment, unsigned 32-bit
 * @param segmentBoundaryMask the boundary that a DMA segment must not cross, minus one
 * @param coherent whether the device snoops the CPU's caches
 * @param addressBits how many address lines it really has, 1 to 64
 */
public record DeviceSpec(
        @Nullable Integer maskBits,
        @Nullable Integer minAlignMask,
        @Nullable Integer maxSegmentBytes,
        @Nullable Long segmentBoundaryMask,
        @Nullable Boolean coherent,
        @Nullable Integer addressBits) {

    /** Says nothing. */
    public static final DeviceSpec NONE = new DeviceSpec(null, null, null, null, null, null);

    /**
     * Applies what is said to a device's defaults; the mask, which a trace may tell as well, apart.
     *
     * @param config the defaults
     * @return a changed copy
     */
    public DeviceConfig applyTo(DeviceConfig config) {
        DeviceConfig result = config;
        if (minAlignMask != null) {
            result = result.withMinAlignMask(minAlignMask);
        }
        if (maxSegmentBytes != null || segmentBoundaryMask != null) {
            result = result.withSegments(
                    maxSegmentBytes == null ? result.maxSegmentBytes() : maxSegmentBytes,
                    segmentBoundaryMask == null ? result.segmentBoundaryMask() : segmentBoundaryMask);
        }
        if (coherent != null) {
            result = result.withCoherent(coherent);
        }
        return addressBits == null ? result : result.withAddressBits(addressBits);
    }

    /**
     * Fills what is left open with what another says.
     *
     * @param other says of more devices than this
     * @return both together; this one's word counts more
     */
    public DeviceSpec orElse(DeviceSpec other) {
        return new DeviceSpec(
                maskBits == null ? other.maskBits : maskBits,
                minAlignMask == null ? other.minAlignMask : minAlignMask,
                maxSegmentBytes == null ? other.maxSegmentBytes : maxSegmentBytes,
                segmentBoundaryMask == null ? other.segmentBoundaryMask : segmentBoundaryMask,
                coherent == null ? other.coherent : coherent,
                addressBits == null ? other.addressBits : addressBits);
    }

    /**
     * The DMA mask.
     *
     * @return the mask, or null when nothing is said of it
     */
    public @Nullable Long mask() {
        return maskBits == null ? null : Addresses.bitMask(maskBits);
    }
}
