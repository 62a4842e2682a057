package io.pagewalk.backends.direct;

import io.pagewalk.backends.swiotlb.DeviceIoTlb;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.PageProtection;
import io.pagewalk.dma.PeerToPeer.Route;
import io.pagewalk.dma.UserMapping;
import io.pagewalk.dma.UserVma;
import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.DmaPages;
import org.jspecify.annotations.Nullable;

/**
 * dma-direct: the driver's side for a device that no IOMMU translates for.
 *
 * <p>Implements dma-core:DIR-10, DIR-14, DIR-15, DIR-20 to DIR-22, DIR-30 to DIR-35, DIR-40, SWM-10, MSK-8, MSK-11,
 * MSK-14, FE-43, FE-70, FE-71. Thread-safe; allocates nothing on the way of a mapping.
 */
public final class DirectOps implements DmaOps {
    private static final long UNLIMITED = -1L;
    private static final long U32 = 0xffff_ffffL;

    private final DeviceIoTlb ioTlb;
    private final DirectReach reach;
    private final DirectCoherent coherent;
    private final DirectRefusal refusal;
    private final PeerPages peers;
    /** Null where every device is coherent, which is all that the common way tests (DEV-7). */
    private final @Nullable CacheMaintenance cache;

    private final @Nullable KmallocBounce kmallocBounce;
    private final @Nullable DmaListener listener;

    /**
     * Makes the operations of a device.
     *
     * @param core what the machine's devices share
     * @param ioTlb the device's bounce allocator
     */
    public DirectOps(DirectCore core, DeviceIoTlb ioTlb) {
        this.ioTlb = ioTlb;
        this.reach = core.reach();
        this.coherent = core.coherent();
        this.refusal = core.refusal();
        this.peers = core.peers();
        this.cache = core.cache();
        this.kmallocBounce = core.kmallocBounce();
        this.listener = core.listener();
    }

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return map(device, cpu, physAddr, sizeBytes, direction, attrs, refusal.pageSite());
    }

    /** The ladder of decisions (DIR-10): forced bounce, then reach, then bounce or fail, then caches. */
    private long map(
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
    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        long physAddr = device.dmaToPhys(dmaAddr);
        SwiotlbPool pool = ioTlb.mem();
        boolean bounced = pool.contains(physAddr);
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0 && (bounced || cache != null)) {
            syncForCpu(device, cpu, dmaAddr, sizeBytes, direction);
        }
        if (bounced) {
            pool.unmap(device, cpu, physAddr, sizeBytes, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
        }
    }

    /** Entry by entry; what a peer's bus address reaches is not mapped at all (DIR-30, DIR-33, DIR-34). */
    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        DevicePageMap judged = null;
        Route route = Route.NOT_SUPPORTED;
        for (int i = 0; i < nents; i++) {
            DevicePageMap peer = peers.mapOf(sg.pageAddr(i));
            if (peer != null) {
                route = peer == judged ? route : peers.route(device, peer);
                judged = peer;
                if (route == Route.BUS_ADDR) {
                    sg.setDma(i, sg.physAddr(i) + peer.busOffset(), sg.lengthBytes(i));
                    sg.setBusAddress(i, true);
                    continue;
                }
                if (route != Route.THRU_HOST_BRIDGE) {
                    refusal.peerPage(device, cpu, sg.physAddr(i), sg.lengthBytes(i));
                    return undo(device, cpu, sg, i, direction, attrs, Errno.EREMOTEIO);
                }
            }
            long lengthBytes = sg.lengthBytes(i);
            long dmaAddr = map(device, cpu, sg.physAddr(i), lengthBytes, direction, attrs, refusal.sgSite());
            if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
                sg.setDma(i, dmaAddr, sg.dmaLengthBytes(i));
                return undo(device, cpu, sg, i, direction, attrs, Errno.EIO);
            }
            sg.setDma(i, dmaAddr, lengthBytes);
        }
        return nents;
    }

    /** Bounce buffers are released without a copy back; addresses and lengths stay as they are (DIR-31). */
    private int undo(Device device, int cpu, SgTable sg, int mapped, DmaDirection direction, int attrs, int errno) {
        unmapSg(device, cpu, sg, mapped, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
        device.failure(cpu).answer(errno);
        return -errno;
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        for (int i = 0; i < nents; i++) {
            if (sg.isBusAddress(i)) {
                sg.setBusAddress(i, false);
            } else {
                unmapPage(device, cpu, sg.dmaAddr(i), sg.dmaLengthBytes(i), direction, attrs);
            }
        }
    }

    /** The address is not translated, dma-ranges or not (DIR-40). */
    @Override
    public long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return DirectReach.isCapable(device, physAddr, sizeBytes)
                ? physAddr
                : refusal.resource(device, cpu, physAddr, sizeBytes);
    }

    @Override
    public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        syncOneForCpu(device, cpu, dmaAddr, sizeBytes, direction, true);
    }

    /** Caches first, then the bounce buffer, whose lines those are when there is one (DIR-20). */
    private void syncOneForCpu(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean isLast) {
        long physAddr = device.dmaToPhys(dmaAddr);
        SwiotlbPool pool = ioTlb.mem();
        if (cache != null && !device.isCoherent()) {
            cache.syncForCpu(physAddr, sizeBytes, direction);
            if (isLast) {
                cache.syncForCpuAll();
            }
        }
        if (pool.contains(physAddr)) {
            pool.syncForCpu(device, cpu, physAddr, sizeBytes, direction);
        }
        if (cache != null && direction == DmaDirection.FROM_DEVICE) {
            cache.markClean(physAddr, sizeBytes);
        }
    }

    /** The bounce buffer first, then caches (DIR-21). */
    @Override
    public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        long physAddr = device.dmaToPhys(dmaAddr);
        SwiotlbPool pool = ioTlb.mem();
        if (pool.contains(physAddr)) {
            pool.syncForDevice(device, cpu, physAddr, sizeBytes, direction);
        }
        if (cache != null) {
            cacheForDevice(cache, device, physAddr, sizeBytes, direction, DmaAttrs.NONE);
        }
    }

    /** By the entries' CPU lengths, bus addresses of peers not skipped (DIR-22). */
    @Override
    public void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        for (int i = 0; i < nents; i++) {
            syncOneForCpu(device, cpu, sg.dmaAddr(i), sg.lengthBytes(i), direction, false);
        }
        if (cache != null && !device.isCoherent()) {
            cache.syncForCpuAll();
        }
    }

    @Override
    public void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        for (int i = 0; i < nents; i++) {
            syncForDevice(device, cpu, sg.dmaAddr(i), sg.lengthBytes(i), direction);
        }
    }

    @Override
    public @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        return coherent.alloc(ioTlb.mem(), device, cpu, sizeBytes, gfp, attrs);
    }

    @Override
    public void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs) {
        coherent.free(ioTlb.mem(), device, pages, attrs);
    }

    @Override
    public @Nullable DmaPages allocPages(Device device, int cpu, long sizeBytes, DmaDirection direction, int gfp) {
        return coherent.allocPages(ioTlb.mem(), device, cpu, sizeBytes, gfp);
    }

    @Override
    public void freePages(Device device, int cpu, DmaPages pages, DmaDirection direction) {
        coherent.freePages(ioTlb.mem(), device, pages);
    }

    /** One entry for the page of the DMA address, with the rounded length, and no DMA side (FE-70). */
    @Override
    public int getSgTable(Device device, SgTable sg, CoherentPages pages, long sizeBytes, int attrs) {
        long roundedBytes = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE);
        sg.add(firstPage(device, pages), 0, roundedBytes & U32);
        return 0;
    }

    private static long firstPage(Device device, CoherentPages pages) {
        return device.dmaToPhys(pages.dmaAddr()) & Addresses.PAGE_MASK;
    }

    @Override
    public UserMapping mmap(Device device, UserVma vma, CoherentPages pages, long sizeBytes, int attrs) {
        long count = Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT;
        return UserMapping.ofContiguous(vma, firstPage(device, pages), count, PageProtection.of(device, attrs));
    }

    @Override
    public boolean canMmap(Device device) {
        return device.isCoherent() || device.machine().kernelConfig().nonCoherentMmap();
    }

    @Override
    public boolean isMaskSupported(Device device, long mask) {
        return reach.isMaskSupported(device, mask);
    }

    @Override
    public boolean mayNeedSync(Device device) {
        return !device.isCoherent();
    }

    /** The address alone decides, whether or not that mapping was bounced (FE-43). */
    @Override
    public boolean needsSync(Device device, long dmaAddr) {
        return !device.isCoherent() || ioTlb.mem().contains(device.dmaToPhys(dmaAddr));
    }

    @Override
    public long maxMappingSize(Device device) {
        SwiotlbPool pool = ioTlb.mem();
        boolean mayBounce = pool.isActive() && (pool.isForced() || device.isAddressingLimited());
        return mayBounce ? pool.maxMappingBytes(device) : UNLIMITED;
    }

    @Override
    public long requiredMask(Device device) {
        return reach.requiredMask(device);
    }

    @Override
    public boolean isAllRamMapped(Device device) {
        return reach.isAllRamMapped(device);
    }

    @Override
    public String toString() {
        SwiotlbPool pool = ioTlb.mem();
        return "dma-direct" + (pool.isForced() ? ", all bounced" : "") + ", pool at " + Addresses.hex(pool.start());
    }
}
