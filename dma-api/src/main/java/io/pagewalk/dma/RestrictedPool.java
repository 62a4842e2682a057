package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import java.util.Set;

/**
 * A reserved region of memory in which some devices bounce everything and allocate everything: the device tree's
 * {@code restricted-dma-pool}. Source: dma-core:SWX-1.
 *
 * @param name names the region, for devices and in statistics
 * @param range where it lies; RAM
 * @param properties what else the device tree says of it, with any of which it is no restricted pool
 */
public record RestrictedPool(String name, PhysRange range, Set<Property> properties) {
    /** Properties that a restricted pool must not have. */
    public enum Property {
        /** {@code reusable}. */
        REUSABLE,
        /** {@code linux,cma-default}. */
        LINUX_CMA_DEFAULT,
        /** {@code linux,dma-default}. */
        LINUX_DMA_DEFAULT,
        /** {@code no-map}. */
        NO_MAP
    }

    private static final long SLOT_BYTES = 0x800;

    /**
     * Checks name and size.
     *
     * @param name names the region
     * @param range where it lies
     * @param properties what else the device tree says of it
     * @throws IllegalArgumentException when the name is blank or the region does not hold a slot of 2 KiB
     */
    public RestrictedPool {
        if (name.isBlank() || Addresses.lessThan(range.sizeBytes(), SLOT_BYTES)) {
            throw new IllegalArgumentException("a restricted pool needs a name and a slot, not " + name + " " + range);
        }
        properties = Set.copyOf(properties);
    }

    /**
     * A region without other properties.
     *
     * @param name names the region
     * @param range where it lies
     * @return the region
     */
    public static RestrictedPool of(String name, PhysRange range) {
        return new RestrictedPool(name, range, Set.of());
    }
}
