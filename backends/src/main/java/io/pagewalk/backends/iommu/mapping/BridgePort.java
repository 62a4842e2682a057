package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.direct.DirectPort;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BusPort;

/**
 * A bridge that moves addresses, in front of an IOMMU that lets them pass: with dma-ranges, a device in an identity
 * domain uses the addresses of one without an IOMMU (dma-core:DEV-11). Immutable.
 */
final class BridgePort implements BusPort {
    /** Tells the bridge's fault codes from the IOMMU's. */
    private static final int OF_BRIDGE = 0x400;

    private final DirectPort bridge;
    private final BusPort iommu;

    BridgePort(DirectPort bridge, BusPort iommu) {
        this.bridge = bridge;
        this.iommu = iommu;
    }

    @Override
    public long beginAccess() {
        return iommu.beginAccess();
    }

    @Override
    public void endAccess(long token) {
        iommu.endAccess(token);
    }

    @Override
    public void afterBlocked() {
        iommu.afterBlocked();
    }

    @Override
    public long translate(long dmaAddr, Access access) {
        long behind = bridge.translate(dmaAddr, access);
        if (!BusPort.isFault(behind)) {
            return iommu.translate(behind, access);
        }
        int code = BusPort.faultCode(behind);
        return code < DeviceBus.BEYOND_WIRES ? BusPort.fault(OF_BRIDGE | code) : behind;
    }

    @Override
    public long spanBytes(long dmaAddr) {
        return Addresses.min(bridge.spanBytes(dmaAddr), BusPort.super.spanBytes(dmaAddr));
    }

    @Override
    public String faultText(int code) {
        return (code & OF_BRIDGE) != 0 ? bridge.faultText(code & ~OF_BRIDGE) : iommu.faultText(code);
    }
}
