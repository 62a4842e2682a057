package io.pagewalk.rdma;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What the RDMA core knows of a device as far as memory is concerned: the device that does its DMA, or none. A device
 * without one is software, and its DMA addresses are kernel virtual addresses. Implements rdma:DMA-1. Immutable.
 */
public final class IbDevice {
    private final String name;
    private final Machine machine;
    private final @Nullable Device dmaDevice;
    private final IbDma[] handles;

    private IbDevice(String name, Machine machine, @Nullable Device dmaDevice) {
        this.name = requireName(name);
        this.machine = machine;
        this.dmaDevice = dmaDevice;
        handles = new IbDma[machine.cpus()];
        for (int cpu = 0; cpu < handles.length; cpu++) {
            handles[cpu] = new IbDma(machine.layout(), dmaDevice == null ? null : dmaDevice.dma(cpu));
        }
    }

    /**
     * Registers a device whose DMA another one does: an adapter on a bus, such as those of irdma.
     *
     * @param name its name
     * @param dmaDevice the device on the bus
     * @return the device
     */
    public static IbDevice withDmaDevice(String name, Device dmaDevice) {
        return new IbDevice(name, dmaDevice.machine(), dmaDevice);
    }

    /**
     * Registers a device that is software, such as those of rxe and siw: it has no DMA device.
     *
     * @param name its name
     * @param machine the machine
     * @return the device
     * @throws IllegalArgumentException when the machine's kernel has no virtual DMA (rdma:DMA-1)
     */
    public static IbDevice withoutDmaDevice(String name, Machine machine) {
        if (!machine.kernelConfig().infinibandVirtDma()) {
            throw new IllegalArgumentException(
                    name + " has no DMA device, and the kernel is built without INFINIBAND_VIRT_DMA (rdma:DMA-1)");
        }
        return new IbDevice(name, machine, null);
    }

    private static String requireName(String name) {
        if (name.isBlank()) {
            throw new IllegalArgumentException("an RDMA device needs a name");
        }
        return name;
    }

    /**
     * The name.
     *
     * @return as given
     */
    public String name() {
        return name;
    }

    /**
     * The machine.
     *
     * @return the one of its DMA device, or where it runs as software
     */
    public Machine machine() {
        return machine;
    }

    /**
     * Who does its DMA.
     *
     * @return the device, or null for software
     */
    public @Nullable Device dmaDevice() {
        return dmaDevice;
    }

    /**
     * {@code ib_uses_virt_dma}.
     *
     * @return whether DMA addresses are kernel virtual addresses
     */
    public boolean usesVirtDma() {
        return dmaDevice == null;
    }

    /**
     * The DMA wrappers as CPU 0 calls them.
     *
     * @return the handle, always the same
     */
    public IbDma dma() {
        return handles[0];
    }

    /**
     * The DMA wrappers as a CPU calls them.
     *
     * @param cpu from 0
     * @return the handle, always the same
     * @throws IndexOutOfBoundsException when the machine has no such CPU
     */
    public IbDma dma(int cpu) {
        return handles[Objects.checkIndex(cpu, handles.length)];
    }

    @Override
    public String toString() {
        return name;
    }
}
