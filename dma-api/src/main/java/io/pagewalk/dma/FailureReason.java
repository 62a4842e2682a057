package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import java.util.List;

/**
 * Why a mapping or an allocation failed, beyond the bare {@link Dma#DMA_MAPPING_ERROR}.
 *
 * <p>Each constant names its numbers, in the order in which {@link FailureSlot#record} takes them, and the knob that
 * would help.
 */
public enum FailureReason {
    /** The device has no streaming mask at all (dma-core:FE-1). */
    NO_MASK("map for the device that has the mask, or give this one a mask with coerceMaskAndCoherent"),
    /** The address lies beyond the device's mask or bus limit and there is no pool to bounce through (DIR-10). */
    MASK_TOO_SMALL("enable swiotlb, or give the device a wider mask", "address", "size", "mask", "bus limit"),
    /** No entry of the device's dma-ranges translates the address (DIR-1). */
    NO_RANGE("add a dma-ranges entry that covers the address", "address", "size"),
    /** The request can never fit in a bounce buffer, however large the pool (SWM-11, SWM-15). */
    EXCEEDS_MAX_MAPPING("split the request: a larger pool changes nothing", "size", "maximum"),
    /** The bounce pool has not enough free slots in any area. */
    POOL_FULL("raise swiotlb=", "requested slots", "free slots", "largest free run", "total slots"),
    /** The bounce pool has enough free slots, but no run that fits size and alignment. */
    POOL_FRAGMENTED(
            "raise swiotlb=, or map smaller pieces",
            "requested slots",
            "free slots",
            "largest free run",
            "total slots"),
    /** A bounce is needed and the machine has no pool. */
    NO_POOL("boot with swiotlb=", "address", "size"),
    /** The bounce buffer itself lies beyond the device's reach (SWM-10). */
    POOL_OUT_OF_REACH(
            "place the pool lower, or give the device a wider mask", "bounce address", "size", "mask", "bus limit"),
    /** The memory is a peer's, and this device reaches it neither by bus address nor like memory (DIR-10, DIR-30). */
    PEER_UNREACHABLE("put both devices below one switch, or copy through memory", "address", "size"),
    /** No free range of device addresses of that size below the limit. */
    NO_IOVA("unmap something, or give the device a wider mask", "pages", "limit"),
    /** The page tables could not take the mapping. */
    TABLE_ERROR("see the error number", "iova", "size", "errno"),
    /** The page allocator had no memory that the device can reach. */
    NO_MEMORY("give the machine more memory below the mask", "size", "mask"),
    /** The device is not coherent, and the kernel has no memory without caching for it (ALC-3). */
    NO_UNCACHED_MEMORY("give the architecture remapping, uncached aliases or an allocator of its own"),
    /** The device's minimum alignment is larger than the granule of the IOMMU (iommu:DMAP-2). */
    UNSUPPORTED_ALIGNMENT("lower min_align_mask", "min align mask", "granule"),
    /** The list cannot be mapped as it stands: empty, or its lengths overflow (FE-11, iommu:SG-7). */
    INVALID_LIST("check the list's lengths", "entries"),
    /** A vmalloc address was given to map_single (FE-3). */
    VMALLOC_ADDRESS("map page by page, or use memory of the direct map", "virtual address"),
    /** The device's own operations lack the one that was called (SEL-6). */
    NO_OPERATION("give the device's operations that method"),
    /** Allocation flags or attributes that the call refuses (FE-50, FE-54, FE-64). */
    INVALID_FLAGS("leave out compound pages, zones and attributes that the call does not take", "gfp", "attrs"),
    /** The device's own region of coherent memory has no free run of that size; there is no fallback (FE-51). */
    REGION_FULL("declare a larger region", "size", "region size", "free pages"),
    /** The machine was told to fail here. */
    INJECTED("disarm the machine's failure injection"),
    /** The backend gave no cause. */
    UNSPECIFIED("none known");

    private final String knob;
    /** Joined, since an enum holds only what cannot change. */
    private final String labels;

    FailureReason(String knob, String... labels) {
        this.knob = knob;
        this.labels = String.join(",", labels);
    }

    /**
     * What a caller can turn to avoid the failure.
     *
     * @return a short phrase
     */
    public String knob() {
        return knob;
    }

    /**
     * Says one of this reason's numbers: addresses, masks and limits in hex.
     *
     * @param index which one, in the order of {@link #labels()}
     * @param value the number, unsigned
     * @return its text, without the label
     */
    public String numberText(int index, long value) {
        String label = labels().get(index);
        boolean address = label.contains("address")
                || label.contains("mask")
                || label.contains("iova")
                || label.contains("limit");
        return address ? Addresses.hex(value) : Long.toUnsignedString(value);
    }

    /**
     * The names of this reason's numbers.
     *
     * @return up to four names
     */
    public List<String> labels() {
        return labels.isEmpty() ? List.of() : List.of(labels.split(",", -1));
    }
}
