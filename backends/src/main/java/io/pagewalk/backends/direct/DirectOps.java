package io.pagewalk.backends.direct;

import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.FailureSlot;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * dma-direct: the driver's side for every device of a machine that no IOMMU translates for.
 *
 * <p>Implements dma-core:DIR-10, DIR-11, DIR-14, DIR-15, DIR-20 to DIR-22, DIR-30 to DIR-32, DIR-40, SWM-10, MSK-1,
 * MSK-4, MSK-8, MSK-11. Holds no state but the pool's, so that one instance serves all devices. Thread-safe.
 */
public final class DirectOps implements DmaOps {
    private static final long UNLIMITED = -1L;

    private final SwiotlbPool pool;
    private final DirectReach reach;
    private final DirectCoherent coherent;
    private final KernelLog.Site pageOverflow;
    private final KernelLog.Site sgOverflow;
    private final KernelLog.Site bounceOverflow;
    private final KernelLog.Site resourceOverflow;
    private final KernelLog.Site resourceWarning;

    /**
     * Makes the operations.
     *
     * @param machine the machine
     * @param pool its bounce pool
     */
    public DirectOps(Machine machine, SwiotlbPool pool) {
        this.pool = pool;
        this.reach = new DirectReach(machine);
        this.coherent = new DirectCoherent(machine);
        this.pageOverflow = machine.log().site("dma_direct_map_page: overflow");
        this.sgOverflow = machine.log().site("dma_direct_map_sg: overflow");
        this.bounceOverflow = machine.log().site("swiotlb_map: overflow");
        this.resourceOverflow = machine.log().site("dma_direct_map_resource: overflow");
        this.resourceWarning = machine.log().site("dma_direct_map_resource");
    }

    DirectCoherent coherent() {
        return coherent;
    }

    /**
     * Checks that no coherent memory is held.
     *
     * @param violation takes a sentence for what is
     */
    public void checkIdle(Consumer<String> violation) {
        coherent.checkIdle(violation);
    }

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return map(device, cpu, physAddr, sizeBytes, direction, attrs, pageOverflow);
    }

    /** The ladder of decisions (DIR-10): forced bounce, then reach, then bounce or fail. */
    private long map(
            Device device,
            int cpu,
            long physAddr,
            long sizeBytes,
            DmaDirection direction,
            int attrs,
            KernelLog.Site overflow) {
        if (pool.isForced()) {
            return bounce(device, cpu, physAddr, sizeBytes, direction, attrs);
        }
        long dmaAddr = device.physToDma(physAddr);
        if (DirectReach.isCapable(device, dmaAddr, sizeBytes)) {
            return dmaAddr;
        }
        if (pool.isActive()) {
            return bounce(device, cpu, physAddr, sizeBytes, direction, attrs);
        }
        return refuse(device, cpu, physAddr, dmaAddr, sizeBytes, overflow);
    }

    /** {@code swiotlb_map} (SWM-10). A pool beyond reach has moved on by then, like the kernel's. */
    private long bounce(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        long tlbAddr = pool.map(device, cpu, physAddr, sizeBytes, 0, direction, attrs);
        if (tlbAddr == -1L) {
            return Dma.DMA_MAPPING_ERROR;
        }
        long dmaAddr = device.physToDma(tlbAddr);
        if (DirectReach.isCapable(device, dmaAddr, sizeBytes)) {
            return dmaAddr;
        }
        pool.unmap(device, cpu, tlbAddr, sizeBytes, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
        return refusePool(device, cpu, dmaAddr, sizeBytes);
    }

    private long refusePool(Device device, int cpu, long dmaAddr, long sizeBytes) {
        if (bounceOverflow.isFirst()) {
            bounceOverflow.warn(overflowText(device, "bounce", dmaAddr, sizeBytes, "SWM-10"));
        }
        device.failure(cpu)
                .record(
                        FailureReason.POOL_OUT_OF_REACH,
                        Errno.ENOMEM,
                        dmaAddr,
                        sizeBytes,
                        device.streamingMask(),
                        device.busLimit());
        return Dma.DMA_MAPPING_ERROR;
    }

    private static long refuse(
            Device device, int cpu, long physAddr, long dmaAddr, long sizeBytes, KernelLog.Site overflow) {
        if (overflow.isFirst()) {
            overflow.warn(overflowText(device, "DMA", dmaAddr, sizeBytes, "DIR-11"));
        }
        FailureSlot failure = device.failure(cpu);
        if (dmaAddr == -1L) {
            failure.record(FailureReason.NO_RANGE, Errno.ENOMEM, physAddr, sizeBytes, 0, 0);
        } else {
            failure.record(
                    FailureReason.MASK_TOO_SMALL,
                    Errno.ENOMEM,
                    dmaAddr,
                    sizeBytes,
                    device.streamingMask(),
                    device.busLimit());
        }
        return Dma.DMA_MAPPING_ERROR;
    }

    private static String overflowText(Device device, String kind, long dmaAddr, long sizeBytes, String rule) {
        return String.format(
                "%s: %s address 0x%016x+%s is out of reach (mask 0x%x, bus limit 0x%x) (dma-core:%s)",
                device.name(),
                kind,
                dmaAddr,
                Long.toUnsignedString(sizeBytes),
                device.streamingMask(),
                device.busLimit(),
                rule);
    }

    /** One copy back at most, in the sync; the release after it never copies (DIR-14). */
    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        long physAddr = device.dmaToPhys(dmaAddr);
        if (!pool.contains(physAddr)) {
            return;
        }
        if ((attrs & DmaAttrs.SKIP_CPU_SYNC) == 0) {
            pool.syncForCpu(device, cpu, physAddr, sizeBytes, direction);
        }
        pool.unmap(device, cpu, physAddr, sizeBytes, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        for (int i = 0; i < nents; i++) {
            long lengthBytes = sg.lengthBytes(i);
            long dmaAddr = map(device, cpu, sg.physAddr(i), lengthBytes, direction, attrs, sgOverflow);
            if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
                sg.setDma(i, dmaAddr, sg.dmaLengthBytes(i));
                unmapSg(device, cpu, sg, i, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
                device.failure(cpu).answer(Errno.EIO);
                return -Errno.EIO;
            }
            sg.setDma(i, dmaAddr, lengthBytes);
        }
        return nents;
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        for (int i = 0; i < nents; i++) {
            unmapPage(device, cpu, sg.dmaAddr(i), sg.dmaLengthBytes(i), direction, attrs);
        }
    }

    /** The address is not translated, dma-ranges or not (DIR-40). */
    @Override
    public long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        if (DirectReach.isCapable(device, physAddr, sizeBytes)) {
            return physAddr;
        }
        if (resourceOverflow.isFirst()) {
            resourceOverflow.message(overflowText(device, "resource", physAddr, sizeBytes, "DIR-40"));
        }
        if (resourceWarning.isFirst()) {
            resourceWarning.warn(overflowText(device, "resource", physAddr, sizeBytes, "DIR-40"));
        }
        device.failure(cpu)
                .record(
                        FailureReason.MASK_TOO_SMALL,
                        Errno.ENOMEM,
                        physAddr,
                        sizeBytes,
                        device.streamingMask(),
                        device.busLimit());
        return Dma.DMA_MAPPING_ERROR;
    }

    @Override
    public void unmapResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        // Nothing was taken (FE-21).
    }

    @Override
    public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        long physAddr = device.dmaToPhys(dmaAddr);
        if (pool.contains(physAddr)) {
            pool.syncForCpu(device, cpu, physAddr, sizeBytes, direction);
        }
    }

    @Override
    public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        long physAddr = device.dmaToPhys(dmaAddr);
        if (pool.contains(physAddr)) {
            pool.syncForDevice(device, cpu, physAddr, sizeBytes, direction);
        }
    }

    /** By the entries' CPU lengths (DIR-22). */
    @Override
    public void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        for (int i = 0; i < nents; i++) {
            syncForCpu(device, cpu, sg.dmaAddr(i), sg.lengthBytes(i), direction);
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
        return coherent.alloc(device, cpu, sizeBytes, attrs);
    }

    @Override
    public void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs) {
        coherent.free(pages);
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
        return !device.isCoherent() || pool.contains(device.dmaToPhys(dmaAddr));
    }

    @Override
    public long maxMappingSize(Device device) {
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
        return "dma-direct" + (pool.isForced() ? ", all bounced" : "") + ", pool at " + Addresses.hex(pool.start());
    }
}
