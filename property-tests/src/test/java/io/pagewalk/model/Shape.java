package io.pagewalk.model;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.kit.SmallWorld;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

/**
 * Which machine a model is compared with: a backend, and what the devices say of themselves.
 *
 * @param backend its variant
 * @param minAlignMask bits that a bounce keeps
 * @param narrowBits width of the narrow device's mask
 * @param trusted whether the devices are
 */
record Shape(String backend, int minAlignMask, int narrowBits, boolean trusted) {
    static Arbitrary<Shape> all() {
        return Combinators.combine(
                        Arbitraries.of("swiotlb", "direct", "direct", "iommu-strict", "iommu-lazy", "virt"),
                        Arbitraries.of(0, 0, 0xfff, 0x7ff, 0x1ff),
                        Arbitraries.of(32, 32, 30),
                        Arbitraries.of(true, false))
                .as(Shape::new);
    }

    Machine start() {
        return SmallWorld.of(backend).builder().build();
    }

    DeviceConfig wide() {
        return DeviceConfig.named("wide").withMinAlignMask(minAlignMask).withTrusted(trusted);
    }

    DeviceConfig narrow() {
        return DeviceConfig.named("narrow")
                .withMinAlignMask(minAlignMask)
                .withTrusted(trusted)
                .withMask(Addresses.bitMask(narrowBits));
    }

    boolean isIommu() {
        return backend.startsWith("iommu");
    }

    boolean isDirect() {
        return backend.equals("direct") || backend.equals("swiotlb");
    }

    /** Whether a buffer is bounced (dma-core:DIR-7, DIR-10, iommu:DMAP-3). */
    boolean bounces(long mask, long physAddr, long sizeBytes) {
        if (isIommu()) {
            return !trusted && ((physAddr | sizeBytes) & (Addresses.PAGE_SIZE - 1)) != 0;
        }
        return backend.equals("swiotlb") || (isDirect() && Addresses.lessThan(mask, physAddr + sizeBytes - 1));
    }

    /** Bytes that a bounce takes from the pool (dma-core:SWM-3, SWM-4, iommu:BNC-1). */
    long bounceBytes(long physAddr, long sizeBytes) {
        long allocAlignMask = isIommu() ? Addresses.PAGE_SIZE - 1 : 0;
        long offset = physAddr & minAlignMask & (allocAlignMask | 0x7ff);
        return (sizeBytes + offset + allocAlignMask) & ~allocAlignMask;
    }

    /** Slots that a bounce takes (dma-core:SWM-8). */
    int slots(long physAddr, long sizeBytes) {
        return (int) ((bounceBytes(physAddr, sizeBytes) + 0x7ff) / 0x800);
    }

    /** What {@code dma_max_mapping_size} promises for bounces (dma-core:SWM-15). */
    int mostBytes() {
        return 0x4_0000 - (minAlignMask + 0x7ff) / 0x800 * 0x800;
    }
}
