package io.pagewalk.kit.planted;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import io.pagewalk.dma.spi.DmaOps;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Faults of the driver side, each a call that goes wrong. */
final class FaultyOps {
    private FaultyOps() {}

    static final class DropsCopyBack extends ForwardingOps {
        DropsCopyBack(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
            super.unmapPage(device, cpu, dmaAddr, sizeBytes, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
        }

        @Override
        public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {}
    }

    static final class DropsSyncForDevice extends ForwardingOps {
        DropsSyncForDevice(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public void syncForDevice(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {}
    }

    static final class SyncsOneOff extends ForwardingOps {
        SyncsOneOff(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public void syncForCpu(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
            if (sizeBytes > 1) {
                super.syncForCpu(device, cpu, dmaAddr + 1, sizeBytes - 1, direction);
            }
        }
    }

    static final class SegmentOneOff extends ForwardingOps {
        SegmentOneOff(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
            int result = super.mapSg(device, cpu, sg, nents, direction, attrs);
            sg.setDma(0, sg.dmaAddr(0) + 1, sg.dmaLengthBytes(0));
            return result;
        }
    }

    static final class SegmentShort extends ForwardingOps {
        SegmentShort(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
            int result = super.mapSg(device, cpu, sg, nents, direction, attrs);
            if (result > 0) {
                sg.setDma(result - 1, sg.dmaAddr(result - 1), sg.dmaLengthBytes(result - 1) - 1);
            }
            return result;
        }
    }

    static final class SegmentsSwapped extends ForwardingOps {
        SegmentsSwapped(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
            int result = super.mapSg(device, cpu, sg, nents, direction, attrs);
            if (result > 1) {
                long dmaAddr = sg.dmaAddr(0);
                long dmaLengthBytes = sg.dmaLengthBytes(0);
                sg.setDma(0, sg.dmaAddr(1), sg.dmaLengthBytes(1));
                sg.setDma(1, dmaAddr, dmaLengthBytes);
            }
            return result;
        }
    }

    static final class LeaksMappings extends ForwardingOps {
        LeaksMappings(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public void unmapPage(
                Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {}
    }

    static final class LeaksPages extends ForwardingOps {
        LeaksPages(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public void freeCoherent(Device device, int cpu, CoherentPages pages, int attrs) {}
    }

    static final class LeaksWhenAListFails extends ForwardingOps {
        private final Machine machine;

        LeaksWhenAListFails(DmaOps healthy, Machine machine) {
            super(healthy);
            this.machine = machine;
        }

        @Override
        public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
            int result = super.mapSg(device, cpu, sg, nents, direction, attrs);
            if (result < 0) {
                machine.pages().allocPages(Zone.NORMAL, 0);
            }
            return result;
        }
    }

    static final class ForgetsToZero extends ForwardingOps {
        private final Machine machine;

        ForgetsToZero(DmaOps healthy, Machine machine) {
            super(healthy);
            this.machine = machine;
        }

        @Override
        public @Nullable CoherentPages allocCoherent(Device device, int cpu, long sizeBytes, int gfp, int attrs) {
            CoherentPages pages = super.allocCoherent(device, cpu, sizeBytes, gfp, attrs);
            if (pages != null) {
                machine.cpuMemory().fill(pages.pagePhysAddr(0), Addresses.PAGE_SIZE, (byte) 0x5a);
            }
            return pages;
        }
    }

    static final class SharesAddresses extends ForwardingOps {
        private final Map<Long, Long> dmaAddrByPhysAddr = new HashMap<>();

        SharesAddresses(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
            return dmaAddrByPhysAddr.computeIfAbsent(
                    physAddr, p -> super.mapPage(device, cpu, physAddr, sizeBytes, direction, attrs));
        }
    }

    static final class RefusesLargeBuffers extends ForwardingOps {
        RefusesLargeBuffers(DmaOps healthy) {
            super(healthy);
        }

        @Override
        public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
            if (sizeBytes > Addresses.PAGE_SIZE) {
                device.failure(cpu).record(FailureReason.POOL_FULL, Errno.ENOMEM, 1, 0, 0, 0);
                return Dma.DMA_MAPPING_ERROR;
            }
            return super.mapPage(device, cpu, physAddr, sizeBytes, direction, attrs);
        }
    }
}
