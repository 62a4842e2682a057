package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * Declares the regions of coherent memory of a machine: those of single devices, and the global one.
 *
 * <p>Implements dma-core:COH-1, COH-2, COH-5, COH-6. Regions lie in RAM that nobody else hands out; the page allocator
 * is not asked, {@code pages().reserve} keeps it off. Declaring is for one thread.
 */
public final class CoherentRegions {
    private final Machine machine;
    private volatile @Nullable CoherentRegion global;

    CoherentRegions(Machine machine) {
        this.machine = machine;
    }

    /**
     * {@code dma_declare_coherent_memory} (dma-core:COH-1).
     *
     * @param device the device
     * @param physAddr first byte
     * @param deviceAddr its DMA address, taken as given
     * @param sizeBytes length; a part of a page at the end is left out
     * @return 0, or -EINVAL for a size of 0, an address that begins no page or memory that is not RAM, -ENOMEM, -ENODEV
     *     without a device, -EBUSY when it has a region, each with nothing changed
     */
    public int declare(@Nullable Device device, long physAddr, long deviceAddr, long sizeBytes) {
        return assign(device, physAddr, deviceAddr, sizeBytes);
    }

    /**
     * Gives a device a region of reserved memory, of which its dma-ranges say where it sees it (dma-core:COH-2). One
     * that it cannot reach is given all the same, with a warning (COH-5).
     *
     * @param device the device
     * @param physAddr first byte
     * @param sizeBytes length
     * @return what {@link #declare} returns
     */
    public int declareReserved(Device device, long physAddr, long sizeBytes) {
        int result = assign(device, physAddr, null, sizeBytes);
        if (result == 0) {
            warnOfReach(device, device.physToDma(physAddr), sizeBytes);
        }
        return result;
    }

    private void warnOfReach(Device device, long dmaAddr, long sizeBytes) {
        boolean reached =
                dmaAddr != -1L && Addresses.lessOrEqual(Addresses.last(dmaAddr, sizeBytes), device.coherentLimit());
        if (!reached) {
            machine.log()
                    .message(
                            "dma_init_coherent_memory",
                            device.name() + ": reserved memory " + Addresses.hexRange(dmaAddr, sizeBytes)
                                    + " is beyond " + Addresses.hex(device.coherentLimit()) + " (dma-core:COH-5)");
        }
    }

    private int assign(@Nullable Device device, long physAddr, @Nullable Long deviceBase, long sizeBytes) {
        if (device != null && device.machine() != machine) {
            throw new IllegalArgumentException(device.name() + " is a device of another machine");
        }
        if (sizeBytes == 0) {
            return -Errno.EINVAL;
        }
        CoherentRegion region =
                fails("coherent.memremap") ? null : CoherentRegion.map(machine, physAddr, deviceBase, sizeBytes);
        if (region == null) {
            return -Errno.EINVAL;
        }
        int result = fails("coherent.region") ? -Errno.ENOMEM : device == null ? -Errno.ENODEV : device.take(region);
        if (result != 0) {
            region.unmap();
        }
        return result;
    }

    private boolean fails(String point) {
        return machine.failures().point(point).fails();
    }

    /**
     * Sets the global region, from which devices that are not coherent allocate where the kernel has
     * {@code DMA_GLOBAL_POOL} (dma-core:ALC-3, COH-6).
     *
     * @param physAddr first byte
     * @param sizeBytes length
     * @return 0, or -EINVAL for a size of 0, an address that begins no page or memory that is not RAM, -ENOMEM, -EBUSY
     *     when there is one
     */
    public int declareGlobal(long physAddr, long sizeBytes) {
        if (sizeBytes == 0) {
            return -Errno.EINVAL;
        }
        if (global != null) {
            return -Errno.EBUSY;
        }
        CoherentRegion region =
                fails("coherent.memremap") ? null : CoherentRegion.map(machine, physAddr, null, sizeBytes);
        if (region == null) {
            return -Errno.EINVAL;
        }
        if (fails("coherent.region")) {
            region.unmap();
            return -Errno.ENOMEM;
        }
        global = region;
        return 0;
    }

    /**
     * The global region.
     *
     * @return the region, or null
     */
    public @Nullable CoherentRegion global() {
        return global;
    }
}
