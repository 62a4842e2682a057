package io.pagewalk.kit.toy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import org.jspecify.annotations.Nullable;

/** The driver side of {@link ToyBackend}. */
final class ToyOps implements DmaOps {
    private final ToyRanges ranges;
    private final Machine machine;
    private final FailurePoint addresses;
    private final FailurePoint pages;

    ToyOps(ToyRanges ranges, Machine machine) {
        this.ranges = ranges;
        this.machine = machine;
        this.addresses = machine.failures().point("toy.addresses");
        this.pages = machine.failures().point("toy.pages");
    }

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        long first = Addresses.alignDown(physAddr, Addresses.PAGE_SIZE);
        long[] physAddrs = pagesOf(first, physAddr + sizeBytes - first);
        return add(device, cpu, physAddrs, physAddr - first, sizeBytes, direction, device.streamingLimit());
    }

    private static long[] pagesOf(long first, long sizeBytes) {
        long[] physAddrs = new long[(int) (Addresses.alignUp(sizeBytes, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT)];
        for (int i = 0; i < physAddrs.length; i++) {
            physAddrs[i] = first + i * Addresses.PAGE_SIZE;
        }
        return physAddrs;
    }

    private long add(
            Device device,
            int cpu,
            long[] physAddrs,
            long pageOffset,
            long sizeBytes,
            DmaDirection direction,
            long limit) {
        if (addresses.fails()) {
            device.failure(cpu).record(FailureReason.INJECTED, Errno.ENOMEM, 0, 0, 0, 0);
            return Dma.DMA_MAPPING_ERROR;
        }
        long dmaAddr = ranges.add(physAddrs, pageOffset, sizeBytes, direction, limit);
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            device.failure(cpu).record(FailureReason.NO_IOVA, Errno.ENOMEM, physAddrs.length, limit, 0, 0);
        }
        return dmaAddr;
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        ranges.remove(dmaAddr);
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        for (int i = 0; i < nents; i++) {
            long dmaAddr = mapPage(device, cpu, sg.physAddr(i), sg.lengthBytes(i), direction, attrs);
            sg.setDma(i, dmaAddr, sg.lengthBytes(i));
            if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
                unmapSg(device, cpu, sg, i, direction, attrs);
                return -Errno.EIO;
            }
        }
        return nents;
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        for (int i = 0; i < nents; i++) {
            ranges.remove(sg.dmaAddr(i));
        }
    }

    @Override
    public long mapResource(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return mapPage(device, cpu, physAddr, sizeBytes, direction, attrs);
    }

    @Override
    public void unmapResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        ranges.remove(dmaAddr);
    }

    @Override
    public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {}

    @Override
    public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {}

    @Override
    public void syncSgForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {}

    @Override
    public void syncSgForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {}

    @Override
    public @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
        int order = Addresses.order(sizeBytes);
        long physAddr = pages.fails() ? PageAllocator.NO_PAGE : machine.pages().allocPages(Zone.NORMAL, order);
        if (physAddr == PageAllocator.NO_PAGE) {
            device.failure(cpu).record(FailureReason.NO_MEMORY, Errno.ENOMEM, sizeBytes, device.coherentMask(), 0, 0);
            return null;
        }
        machine.cpuMemory().zero(physAddr, Addresses.PAGE_SIZE << order);
        long[] physAddrs = pagesOf(physAddr, sizeBytes);
        long dmaAddr = add(device, cpu, physAddrs, 0, sizeBytes, DmaDirection.BIDIRECTIONAL, device.coherentLimit());
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            machine.pages().freePages(physAddr, order);
            return null;
        }
        return new CoherentPages(dmaAddr, sizeBytes, physAddrs);
    }

    @Override
    public void freeCoherent(Device device, int cpu, CoherentPages memory, int attrs) {
        ranges.remove(memory.dmaAddr());
        machine.pages().freePages(memory.pagePhysAddr(0), Addresses.order(memory.sizeBytes()));
    }

    @Override
    public boolean isMaskSupported(Device device, long mask) {
        return true;
    }

    @Override
    public boolean mayNeedSync(Device device) {
        return false;
    }

    @Override
    public long maxMappingSize(Device device) {
        return -1L;
    }

    @Override
    public long requiredMask(Device device) {
        return Addresses.bitMask(32);
    }
}
