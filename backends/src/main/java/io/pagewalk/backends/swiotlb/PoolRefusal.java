package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SET_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_BYTES;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.FailureSlot;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.Addresses;

/**
 * What an allocator says when it refuses: the kernel's messages, and why a pool refused a request, which the kernel's
 * "full" does not say. Only failures pay for it.
 *
 * <p>Implements dma-core:SWM-1, SWM-2, SWM-6, SWX-5 as far as they log. Thread-safe.
 */
final class PoolRefusal {
    private final KernelLog.Site noPoolSite;
    private final KernelLog.Site fullSite;
    private final KernelLog.Site alignSite;
    private final KernelLog.Site unalignedPageSite;

    PoolRefusal(KernelLog log) {
        noPoolSite = log.site("swiotlb_tbl_map_single: no pool");
        fullSite = log.site("swiotlb_tbl_map_single: full");
        alignSite = log.site("swiotlb_tbl_map_single: alignment");
        unalignedPageSite = log.site("swiotlb_alloc: unaligned page");
    }

    void warnOfAlignment(Device device, long allocAlignMask) {
        if (alignSite.isFirst()) {
            alignSite.warn(device.name() + ": alignment mask " + Addresses.hex(allocAlignMask) + " is above "
                    + Addresses.hex(SwiotlbLayout.LARGEST_ALLOC_ALIGN_MASK) + " (dma-core:SWM-2)");
        }
    }

    void warnOfUnalignedPage(Device device, long tlbAddr) {
        if (unalignedPageSite.isFirst()) {
            unalignedPageSite.warn(
                    device.name() + ": slots at " + Addresses.hex(tlbAddr) + " do not begin a page (dma-core:SWX-5)");
        }
    }

    void withoutPool(Device device, int cpu, long physAddr, long sizeBytes) {
        if (noPoolSite.isWithinRate()) {
            noPoolSite.message(device.name()
                    + ": Can not allocate SWIOTLB buffer earlier and can't now provide a DMA bounce buffer for "
                    + Addresses.hex(physAddr) + " (dma-core:SWM-1)");
        }
        device.failure(cpu).record(FailureReason.NO_POOL, Errno.ENOMEM, physAddr, sizeBytes, 0, 0);
    }

    /** Tells of a search that found nothing; the pools are those that stay, the default one last. */
    void full(
            IoTlbPool[] pools,
            Device device,
            int cpu,
            long physAddr,
            long sizeBytes,
            long totalBytes,
            long allocAlignMask,
            int attrs) {
        if ((attrs & DmaAttrs.NO_WARN) == 0 && fullSite.isWithinRate()) {
            fullSite.message(device.name() + ": swiotlb buffer is full (sz: " + Long.toUnsignedString(totalBytes)
                    + " bytes), total " + IoTlbPool.slots(pools) + " (slots), used "
                    + pools[0].usage().used() + " (slots)");
        }
        record(device.failure(cpu), pools, device, physAddr, sizeBytes, totalBytes, allocAlignMask);
    }

    private static void record(
            FailureSlot failure,
            IoTlbPool[] pools,
            Device device,
            long physAddr,
            long sizeBytes,
            long totalBytes,
            long allocAlignMask) {
        long needed = SwiotlbLayout.slots(totalBytes);
        if (canNeverFit(pools[pools.length - 1], device, physAddr, sizeBytes, totalBytes, allocAlignMask)) {
            failure.record(FailureReason.EXCEEDS_MAX_MAPPING, Errno.ENOMEM, sizeBytes, maximum(device), 0, 0);
            return;
        }
        long free = 0;
        long mostFreeInAnArea = 0;
        int largestFreeRun = 0;
        for (IoTlbPool pool : pools) {
            for (int number = 0; number < pool.areaCount(); number++) {
                long freeHere = (long) pool.areaSlots() - pool.area(number).usedLocked();
                free += freeHere;
                mostFreeInAnArea = Math.max(mostFreeInAnArea, freeHere);
            }
            largestFreeRun = Math.max(largestFreeRun, pool.table().largestFreeRun());
        }
        FailureReason reason =
                Addresses.lessThan(mostFreeInAnArea, needed) ? FailureReason.POOL_FULL : FailureReason.POOL_FRAGMENTED;
        failure.record(reason, Errno.ENOMEM, needed, free, largestFreeRun, IoTlbPool.slots(pools));
    }

    private static long maximum(Device device) {
        long bySegment = device.segmentBoundaryMask() == -1L ? -1L : device.segmentBoundaryMask() + 1;
        return Addresses.min(SwiotlbLayout.maxMappingBytes(device.minAlignMask()), bySegment);
    }

    /** Whether even an empty pool would refuse for the request's length. */
    private static boolean canNeverFit(
            IoTlbPool pool, Device device, long physAddr, long sizeBytes, long totalBytes, long allocAlignMask) {
        if (Addresses.lessThan(SwiotlbLayout.SET_BYTES, totalBytes)) {
            return true;
        }
        if (Addresses.lessOrEqual(sizeBytes, maximum(device))) {
            return false;
        }
        int count = (int) SwiotlbLayout.slots(totalBytes);
        return !hasPlace(pool, device, physAddr, totalBytes, allocAlignMask, count);
    }

    /** Whether some slot has the right address bits and room behind it, in its set and before the boundary (SWS-4). */
    private static boolean hasPlace(
            IoTlbPool pool, Device device, long physAddr, long totalBytes, long allocAlignMask, int count) {
        long boundary = device.segmentBoundaryMask();
        long minAlignMask = device.minAlignMask();
        long alignMask = IoTlbPool.alignMask(totalBytes, allocAlignMask, minAlignMask);
        long comparedBits = physAddr == 0 ? 0 : minAlignMask & ~alignMask;
        long poolDmaAddr = device.physToDmaUnencrypted(pool.start()) & boundary;
        long boundarySlots = (boundary >>> SwiotlbLayout.SLOT_SHIFT) + 1;
        for (int slot = 0; slot < pool.slots(); slot++) {
            long dmaAddr = poolDmaAddr + slot * SLOT_BYTES;
            boolean aligned = (dmaAddr & alignMask) == 0 && ((dmaAddr ^ physAddr) & comparedBits) == 0;
            long boundarySlot = (SwiotlbLayout.slots(poolDmaAddr) + slot) & (boundarySlots - 1);
            if (aligned && slot % SET_SLOTS + count <= SET_SLOTS && boundarySlot + count <= boundarySlots) {
                return true;
            }
        }
        return false;
    }
}
