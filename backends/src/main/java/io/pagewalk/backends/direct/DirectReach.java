package io.pagewalk.backends.direct;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaRange;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.memory.ZoneLimits;
import java.util.List;

/**
 * What a device's masks reach without an IOMMU.
 *
 * <p>Implements dma-core:DIR-7 to DIR-9, MSK-1, MSK-4, MSK-10. Stateless but for the machine's RAM; thread-safe.
 */
final class DirectReach {
    private static final long MASK_32_BITS = 0xffff_ffffL;

    private final long topPageAddr;
    private final List<PhysRange> ram;
    private final ZoneLimits zones;
    private final boolean forcedDecryption;

    DirectReach(Machine machine) {
        topPageAddr = (machine.ram().maxPfn() - 1) << Addresses.PAGE_SHIFT;
        ram = machine.ram().ranges();
        zones = machine.kernelConfig().arch().zones();
        forcedDecryption = machine.kernelConfig().arch().forcedDecryption();
    }

    /** {@code dma_capable}: only the last byte is compared, and it may wrap (DIR-7, DIR-8). */
    static boolean isCapable(Device device, long dmaAddr, long sizeBytes) {
        return dmaAddr != -1L && Addresses.lessOrEqual(Addresses.last(dmaAddr, sizeBytes), device.streamingLimit());
    }

    /** {@code dma_coherent_ok} (DIR-9). */
    boolean isCoherentOk(Device device, long physAddr, long sizeBytes) {
        long dmaAddr = coherentDmaAddr(device, physAddr);
        return dmaAddr != -1L && Addresses.lessOrEqual(Addresses.last(dmaAddr, sizeBytes), device.coherentLimit());
    }

    /** {@code phys_to_dma_direct}: without the encryption bit where devices need decrypted memory (ALC-5). */
    long coherentDmaAddr(Device device, long physAddr) {
        return forcedDecryption ? device.physToDmaUnencrypted(physAddr) : device.physToDma(physAddr);
    }

    /** The mask that reaches the last page of RAM (MSK-1). */
    long requiredMask(Device device) {
        long dmaAddr = coherentDmaAddr(device, topPageAddr);
        return dmaAddr == 0 ? -1L : (Long.highestOneBit(dmaAddr) << 1) - 1;
    }

    /** A mask is refused only below 32 bits, and only when it reaches neither the lowest zone nor all RAM (MSK-4). */
    boolean isMaskSupported(Device device, long mask) {
        if (Addresses.lessOrEqual(MASK_32_BITS, mask)) {
            return true;
        }
        long lowest = zones.has(Zone.DMA) ? Addresses.min(topPageAddr, zones.zoneDmaLimit()) : topPageAddr;
        return Addresses.lessOrEqual(device.physToDmaUnencrypted(lowest), mask);
    }

    /** Whether dma-ranges cover all RAM (MSK-10). */
    boolean isAllRamMapped(Device device) {
        if (!device.hasRanges()) {
            return true;
        }
        List<DmaRange> ranges = device.ranges();
        boolean anyWholePage = false;
        for (PhysRange range : ram) {
            long firstPfn = (range.first() + Addresses.PAGE_SIZE - 1) >>> Addresses.PAGE_SHIFT;
            long endPfn = (range.last() >>> Addresses.PAGE_SHIFT) + (endsPage(range.last()) ? 1 : 0);
            if (Addresses.lessThan(firstPfn, endPfn)) {
                anyWholePage = true;
                if (!areMapped(firstPfn, endPfn, ranges)) {
                    return false;
                }
            }
        }
        return anyWholePage;
    }

    /** Steps through page frames from entry to entry (MSK-10). */
    private static boolean areMapped(long firstPfn, long endPfn, List<DmaRange> ranges) {
        long pfn = firstPfn;
        while (Addresses.lessThan(pfn, endPfn)) {
            long next = pfnBehindEntryOf(pfn, ranges);
            if (next == pfn) {
                return false;
            }
            pfn = next;
        }
        return true;
    }

    private static boolean endsPage(long lastAddr) {
        return (lastAddr & (Addresses.PAGE_SIZE - 1)) == Addresses.PAGE_SIZE - 1;
    }

    /** The first frame behind the entry that contains a frame; the frame itself when none does. */
    private static long pfnBehindEntryOf(long pfn, List<DmaRange> ranges) {
        for (DmaRange range : ranges) {
            long pages = range.sizeBytes() >>> Addresses.PAGE_SHIFT;
            if (pages == 0) {
                return pfn;
            }
            long firstPfn = range.cpuStart() >>> Addresses.PAGE_SHIFT;
            if (Addresses.lessThan(pfn - firstPfn, pages)) {
                return firstPfn + pages;
            }
        }
        return pfn;
    }
}
