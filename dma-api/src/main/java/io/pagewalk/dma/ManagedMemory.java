package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.CoherentPages;
import org.jspecify.annotations.Nullable;

/**
 * Coherent memory that is freed when its driver lets go of the device: the {@code dmam_} calls.
 *
 * <p>Implements dma-core:FE-73. Thread-safe.
 */
public final class ManagedMemory {
    private final DmaMemory memory;
    private final Device device;
    private final ManagedResources resources;

    ManagedMemory(DmaMemory memory, Device device) {
        this.memory = memory;
        this.device = device;
        this.resources = device.managedResources();
    }

    /**
     * {@code dmam_alloc_attrs}.
     *
     * @param sizeBytes length in bytes
     * @param gfp bits of {@link Gfp}
     * @param attrs bits of {@link DmaAttrs}, with which it is freed when the driver goes
     * @return the buffer; closing it is {@link #freeCoherent} of it. Null when there is no memory for it or its record
     */
    public @Nullable CoherentBuffer allocAttrs(long sizeBytes, int gfp, int attrs) {
        if (device.machine().failures().point("dma.devres").fails()) {
            device.failure(memory.cpu()).record(FailureReason.INJECTED, Errno.ENOMEM, 0, 0, 0, 0);
            return null;
        }
        CoherentAllocation allocation = memory.allocate(sizeBytes, gfp, attrs);
        if (allocation == null) {
            return null;
        }
        CoherentPages pages = allocation.pages();
        resources.add(new ManagedResources.Entry(sizeBytes, pages.cpuAddr(), pages.dmaAddr(), attrs));
        return new CoherentBuffer(allocation, live -> freeCoherent(live.pages()), DmaMemory.memoryOf(device));
    }

    /**
     * {@code dmam_alloc_coherent}.
     *
     * @param sizeBytes length in bytes
     * @param gfp bits of {@link Gfp}
     * @return the buffer, or null
     */
    public @Nullable CoherentBuffer allocCoherent(long sizeBytes, int gfp) {
        return allocAttrs(sizeBytes, gfp, DmaMemory.noWarn(gfp));
    }

    private void freeCoherent(CoherentPages pages) {
        freeCoherent(pages.sizeBytes(), pages.cpuAddr(), pages.dmaAddr());
    }

    /**
     * {@code dmam_free_coherent}: finds the record by the CPU's address alone, WARNs when there is none or it differs,
     * and frees all the same, with no attributes.
     *
     * @param sizeBytes what was allocated
     * @param cpuAddr the CPU's address
     * @param dmaAddr the DMA address
     * @throws IllegalStateException when the device has no coherent memory there
     */
    public void freeCoherent(long sizeBytes, long cpuAddr, long dmaAddr) {
        ManagedResources.Entry entry = resources.take(cpuAddr);
        if (entry == null) {
            warn("dmam_free_coherent", "no record of", sizeBytes, cpuAddr, dmaAddr);
        } else if (entry.sizeBytes() != sizeBytes || entry.dmaAddr() != dmaAddr) {
            warn("dmam_match", "another record than", sizeBytes, cpuAddr, dmaAddr);
        }
        memory.freeCoherent(sizeBytes, cpuAddr, dmaAddr);
    }

    private void warn(String site, String what, long sizeBytes, long cpuAddr, long dmaAddr) {
        device.machine()
                .log()
                .warn(
                        site,
                        device.name() + " has " + what + " " + Addresses.hexRange(cpuAddr, sizeBytes) + " at "
                                + Addresses.hex(dmaAddr) + " (dma-core:FE-73)");
    }

    /**
     * Frees everything that is left, on this CPU, the latest first. What its driver freed past the record is not freed
     * again, as a kernel would do.
     */
    void releaseAll() {
        for (ManagedResources.Entry entry = resources.takeLatest(); entry != null; entry = resources.takeLatest()) {
            if (memory.canFree(entry.cpuAddr())) {
                memory.freeAttrs(entry.sizeBytes(), entry.cpuAddr(), entry.dmaAddr(), entry.attrs());
            } else {
                warn("dmam_release", "freed already", entry.sizeBytes(), entry.cpuAddr(), entry.dmaAddr());
            }
        }
    }
}
