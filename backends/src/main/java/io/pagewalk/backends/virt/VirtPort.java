package io.pagewalk.backends.virt;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.spi.BusPort;

/** The "bus" of a device that is software: it follows a pointer into the direct map. Immutable. */
final class VirtPort implements BusPort {
    static final int NOT_DIRECT_MAP = 1;

    private final KernelLayout layout;

    VirtPort(KernelLayout layout) {
        this.layout = layout;
    }

    @Override
    public long translate(long dmaAddr, Access access) {
        if (!layout.isDirectMap(dmaAddr)) {
            return BusPort.fault(NOT_DIRECT_MAP);
        }
        long physAddr = layout.virtToPhys(dmaAddr);
        return BusPort.isFault(physAddr) ? BusPort.fault(DeviceBus.NOT_RAM) : physAddr;
    }

    @Override
    public long spanBytes(long dmaAddr) {
        return layout.directMap().last() - dmaAddr + 1;
    }

    @Override
    public boolean onWires() {
        return false;
    }

    @Override
    public String faultText(int code) {
        return code == NOT_DIRECT_MAP ? "not an address of the kernel's direct map" : "fault " + code;
    }
}
