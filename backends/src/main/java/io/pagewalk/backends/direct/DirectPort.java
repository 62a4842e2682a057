package io.pagewalk.backends.direct;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.BusPort;
import java.util.List;

/**
 * A bus without an IOMMU: addresses are physical ones, moved by the offsets of dma-ranges if there are any. Immutable.
 */
public final class DirectPort implements BusPort {
    static final int NO_RANGE = 1;

    private static final long UNLIMITED = -1L;

    private final DmaRange[] ranges;
    private final long encryptionMask;

    /**
     * Makes the bus of a device.
     *
     * @param ranges its dma-ranges, in order
     * @param encryptionMask the bit of an address that says encrypted, 0 for none
     */
    public DirectPort(List<DmaRange> ranges, long encryptionMask) {
        this.ranges = ranges.toArray(new DmaRange[0]);
        this.encryptionMask = encryptionMask;
    }

    /** The memory controller takes the encryption bit for itself: it is not a part of where memory lies. */
    @Override
    public long translate(long busAddr, Access access) {
        long dmaAddr = busAddr & ~encryptionMask;
        if (ranges.length == 0) {
            return physical(dmaAddr);
        }
        for (DmaRange range : ranges) {
            if (range.coversDma(dmaAddr)) {
                return physical(range.cpuStart() + (dmaAddr - range.dmaStart()));
            }
        }
        return BusPort.fault(NO_RANGE);
    }

    /** No RAM lies where an address would look like a fault. */
    private static long physical(long physAddr) {
        return BusPort.isFault(physAddr) ? BusPort.fault(DeviceBus.NOT_RAM) : physAddr;
    }

    /**
     * To the end of the entry that translates the address, or to where an entry before it, which wins, begins (DIR-3).
     */
    @Override
    public long spanBytes(long busAddr) {
        long dmaAddr = busAddr & ~encryptionMask;
        long span = UNLIMITED;
        for (DmaRange range : ranges) {
            if (range.coversDma(dmaAddr)) {
                return Addresses.min(span, range.sizeBytes() - (dmaAddr - range.dmaStart()));
            }
            if (Addresses.lessThan(dmaAddr, range.dmaStart())) {
                span = Addresses.min(span, range.dmaStart() - dmaAddr);
            }
        }
        return span;
    }

    @Override
    public String faultText(int code) {
        return code == NO_RANGE ? "no dma-ranges entry translates the address" : "fault " + code;
    }
}
