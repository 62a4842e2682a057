package io.pagewalk.backends.direct;

import io.pagewalk.backends.swiotlb.DeviceIoTlb;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.events.DmaListener;
import org.jspecify.annotations.Nullable;

/**
 * Streaming mappings of one buffer: the ladder from a physical address to a DMA address, and the way back.
 *
 * <p>Implements dma-core:DIR-10, DIR-14, DIR-15, DIR-20, DIR-21, DIR-35, SWM-10. Thread-safe; allocates nothing.
 */
final class DirectStreaming {
    private final DeviceIoTlb ioTlb;
    private final DirectRefusal refusal;
    private final PeerPages peers;
    /** Null where every device is coherent, which is all that the common way tests (DEV-7). */
    private final @Nullable CacheMaintenance cache;

    private final @Nullable KmallocBounce kmallocBounce;
    private final @Nullable DmaListener listener;

    DirectStreaming(DirectCore core, DeviceIoTlb ioTlb) {
        this.ioTlb = ioTlb;
        this.refusal = core.refusal();
        this.peers = core.peers();
        this.cache = core.cache();
        this.kmallocBounce = core.kmallocBounce();
        this.listener = core.listener();
    }

    /** The ladder of decisions (DIR-10): forced bounce, then reach, then bounce or fail, then caches. */
    long map(
            Device device,
            int cpu,
            long physAddr,
            long sizeBytes,
            DmaDirection direction,
            int attrs,
            KernelLog.Site overflow) {
        SwiotlbPool pool = ioTlb.mem();
        if (pool.isForced()) {
            return bounceUnlessPeer(pool, device, cpu, physAddr, sizeBytes, direction, attrs);
        }
        long dmaAddr = device.physToDma(physAddr);
        if (!DirectReach.isCapable(device, dmaAddr, sizeBytes) || needsKmallocBounce(device, sizeBytes, direction)) {
            return pool.isActive() || peers.mapOf(physAddr) != null
                    ? bounceUnlessPeer(pool, device, cpu, physAddr, sizeBytes, direction, attrs)
                    : refusal.withoutPool(device, cpu, physAddr, dmaAddr, sizeBytes, overflow);
        }
        if (cache != null) {
            cacheForDevice(cache, device, physAddr, sizeBytes, direction, attrs);
        }
        return dmaAddr;
    }

    private boolean needsKmallocBounce(Device device, long sizeBytes, DmaDirection direction) {
        return kmallocBounce != null && kmallocBounce.isNeeded(device, sizeBytes, direction);
    }

    private static void cacheForDevice(
            CacheMaintenance hooks, Device device, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        if (!device.isCoherent() && (attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
            hooks.syncForDevice(physAddr, sizeBytes, direction);
        }
    }

    private long bounceUnlessPeer(
            SwiotlbPool pool,
            Device device,
            int cpu,
            long physAddr,
            long sizeBytes,
            DmaDirection direction,
            int attrs) {
        return peers.mapOf(physAddr) == null
                ? bounce(pool, device, cpu, physAddr, sizeBytes, direction, attrs)
                : refusal.peerPage(device, cpu, physAddr, sizeBytes);
    }

    /** {@code swiotlb_map} (SWM-10). A pool beyond reach has moved on by then, like the kernel's. */
    private long bounce(
            SwiotlbPool pool,
            Device device,
            int cpu,
            long physAddr,
            long sizeBytes,
            DmaDirection direction,
            int attrs) {
        if (listener != null) {
            long wouldBe = device.physToDma(physAddr);
            listener.bounced(device, cpu, device.streamingMask(), wouldBe, sizeBytes, pool.isForced());
        }
        long tlbAddr = pool.map(device, cpu, physAddr, sizeBytes, 0, direction, attrs);
        if (tlbAddr == -1L) {
            return Dma.DMA_MAPPING_ERROR;
        }
        long dmaAddr = device.physToDmaUnencrypted(tlbAddr);
        if (!DirectReach.isCapable(device, dmaAddr, sizeBytes)) {
            pool.unmap(device, cpu, tlbAddr, sizeBytes, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
            return refusal.pool(device, cpu, dmaAddr, sizeBytes);
        }
        if (cache != null) {
            cacheForDevice(cache, device, tlbAddr, sizeBytes, direction, attrs);
        }
        return dmaAddr;
    }

    /** One copy back at most, in the sync; the release after it never copies (DIR-14). */
    void unmap(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        long physAddr = device.dmaToPhys(dmaAddr);
        SwiotlbPool pool = ioTlb.mem();
        boolean bounced = pool.contains(device, physAddr);
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0 && (bounced || cache != null)) {
            syncForCpu(device, cpu, dmaAddr, sizeBytes, direction, true);
        }
        if (bounced) {
            pool.unmap(device, cpu, physAddr, sizeBytes, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
        }
    }

    /**
     * Caches first, then the bounce buffer, whose lines those are when there is one (DIR-20). A list's entries leave
     * out what is done once for all.
     */
    void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean isLast) {
        long physAddr = device.dmaToPhys(dmaAddr);
        if (cache != null && !device.isCoherent()) {
            cache.syncForCpu(physAddr, sizeBytes, direction);
            if (isLast) {
                cache.syncForCpuAll();
            }
        }
        ioTlb.mem().syncForCpu(device, cpu, physAddr, sizeBytes, direction);
        if (cache != null && direction == DmaDirection.FROM_DEVICE) {
            cache.markClean(physAddr, sizeBytes);
        }
    }

    /** The bounce buffer first, then caches (DIR-21). */
    void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        long physAddr = device.dmaToPhys(dmaAddr);
        ioTlb.mem().syncForDevice(device, cpu, physAddr, sizeBytes, direction);
        if (cache != null) {
            cacheForDevice(cache, device, physAddr, sizeBytes, direction, DmaAttrs.NONE);
        }
    }

    /** What a list does once its entries are back (DIR-22). */
    void syncForCpuAll(Device device) {
        if (cache != null && !device.isCoherent()) {
            cache.syncForCpuAll();
        }
    }
}
