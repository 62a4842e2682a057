package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a device is before its driver touches it: identity, masks, limits, wires. Immutable; each {@code with} method
 * returns a changed copy. The defaults are those of a PCI device (dma-core:DEV-6) with both masks at 64 bits already
 * set, coherent and trusted, on wires of 64 bits.
 *
 * @param name unique on the machine, such as {@code 0000:00:04.0}
 * @param requesterId bus, device and function as on PCI, 0 to 0xffff; {@link #ANY_REQUESTER_ID} lets the machine choose
 * @param streamingMask the streaming mask, or null when the device has none (dma-core:DEV-1)
 * @param coherentMask the mask of coherent allocations
 * @param busLimit highest address the bus in between passes, 0 for none (dma-core:DEV-2)
 * @param ranges the device's dma-ranges, empty for one to one
 * @param maxSegmentBytes largest segment, 0 for the default of 64 KiB (dma-core:DEV-5)
 * @param segmentBoundaryMask a segment must not cross a multiple of this plus one, 0 for the default (none)
 * @param minAlignMask bits of an address that a bounce must keep
 * @param coherent whether the device snoops the CPU's caches
 * @param trusted false for a device on an external port, whose mappings are kept apart
 * @param pci whether it is a PCI device, which tries 32-bit device addresses first (iommu:DIOVA-3)
 * @param addressBits how many address lines its wires have, 1 to 64
 */
public record DeviceConfig(
        String name,
        int requesterId,
        @Nullable Long streamingMask,
        long coherentMask,
        long busLimit,
        List<DmaRange> ranges,
        int maxSegmentBytes,
        long segmentBoundaryMask,
        int minAlignMask,
        boolean coherent,
        boolean trusted,
        boolean pci,
        int addressBits) {

    /** Lets the machine choose the next free requester id. */
    public static final int ANY_REQUESTER_ID = -1;

    /** Checks what can be wrong in Java. */
    public DeviceConfig {
        if (name.isBlank()) {
            throw new IllegalArgumentException("a device needs a name");
        }
        if (requesterId < ANY_REQUESTER_ID || requesterId > 0xffff) {
            throw new IllegalArgumentException("requester id " + requesterId + " of " + name + " is not 16-bit");
        }
        if (addressBits < 1 || addressBits > 64) {
            throw new IllegalArgumentException(name + " cannot have " + addressBits + " address lines");
        }
        if ((segmentBoundaryMask & (segmentBoundaryMask + 1)) != 0) {
            throw new IllegalArgumentException("segment boundary mask " + Addresses.hex(segmentBoundaryMask) + " of "
                    + name + " is not a power of two minus one");
        }
        ranges = List.copyOf(ranges);
    }

    /**
     * A PCI device of a name with every default.
     *
     * @param name its name
     * @return the configuration
     */
    public static DeviceConfig named(String name) {
        return new DeviceConfig(
                name, ANY_REQUESTER_ID, -1L, -1L, 0, List.of(), 0, 0xffff_ffffL, 0, true, true, true, 64);
    }

    /**
     * Changes the requester id.
     *
     * @param id bus, device and function
     * @return a changed copy
     */
    public DeviceConfig withRequesterId(int id) {
        return new DeviceConfig(
                name,
                id,
                streamingMask,
                coherentMask,
                busLimit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                coherent,
                trusted,
                pci,
                addressBits);
    }

    /**
     * Changes both masks.
     *
     * @param mask the mask
     * @return a changed copy
     */
    public DeviceConfig withMask(long mask) {
        return withStreamingMask(mask).withCoherentMask(mask);
    }

    /**
     * Changes the streaming mask.
     *
     * @param mask the mask, or null for none
     * @return a changed copy
     */
    public DeviceConfig withStreamingMask(@Nullable Long mask) {
        return new DeviceConfig(
                name,
                requesterId,
                mask,
                coherentMask,
                busLimit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                coherent,
                trusted,
                pci,
                addressBits);
    }

    /**
     * Changes the coherent mask.
     *
     * @param mask the mask
     * @return a changed copy
     */
    public DeviceConfig withCoherentMask(long mask) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                mask,
                busLimit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                coherent,
                trusted,
                pci,
                addressBits);
    }

    /**
     * Changes the bus limit.
     *
     * @param limit highest address, 0 for none
     * @return a changed copy
     */
    public DeviceConfig withBusLimit(long limit) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                coherentMask,
                limit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                coherent,
                trusted,
                pci,
                addressBits);
    }

    /**
     * Changes the dma-ranges.
     *
     * @param entries in array order, of which the first that fits wins (dma-core:DIR-3)
     * @return a changed copy
     */
    public DeviceConfig withRanges(DmaRange... entries) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                coherentMask,
                busLimit,
                List.of(entries),
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                coherent,
                trusted,
                pci,
                addressBits);
    }

    /**
     * Changes what the device can take of a list.
     *
     * @param maxBytes largest segment, unsigned, 0 for the default
     * @param boundaryMask the segment boundary mask, 0 for the default
     * @return a changed copy
     */
    public DeviceConfig withSegments(int maxBytes, long boundaryMask) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                coherentMask,
                busLimit,
                ranges,
                maxBytes,
                boundaryMask,
                minAlignMask,
                coherent,
                trusted,
                pci,
                addressBits);
    }

    /**
     * Changes the alignment that a bounce keeps.
     *
     * @param mask the mask, such as 0xfff for NVMe
     * @return a changed copy
     */
    public DeviceConfig withMinAlignMask(int mask) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                coherentMask,
                busLimit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                mask,
                coherent,
                trusted,
                pci,
                addressBits);
    }

    /**
     * Changes whether the device snoops caches.
     *
     * @param yes whether it does
     * @return a changed copy
     */
    public DeviceConfig withCoherent(boolean yes) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                coherentMask,
                busLimit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                yes,
                trusted,
                pci,
                addressBits);
    }

    /**
     * Changes whether the device is trusted.
     *
     * @param yes whether it is
     * @return a changed copy
     */
    public DeviceConfig withTrusted(boolean yes) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                coherentMask,
                busLimit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                coherent,
                yes,
                pci,
                addressBits);
    }

    /**
     * Changes whether it is a PCI device.
     *
     * @param yes whether it is
     * @return a changed copy
     */
    public DeviceConfig withPci(boolean yes) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                coherentMask,
                busLimit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                coherent,
                trusted,
                yes,
                addressBits);
    }

    /**
     * Changes the wires.
     *
     * @param bits address lines, 1 to 64
     * @return a changed copy
     */
    public DeviceConfig withAddressBits(int bits) {
        return new DeviceConfig(
                name,
                requesterId,
                streamingMask,
                coherentMask,
                busLimit,
                ranges,
                maxSegmentBytes,
                segmentBoundaryMask,
                minAlignMask,
                coherent,
                trusted,
                pci,
                bits);
    }
}
