package io.pagewalk.dma;

import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaOps;

/** What every device gets from a kernel without {@code HAS_DMA}: nothing (dma-core:FE-14). */
final class WithoutDma implements DmaOps {
    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        device.failure(cpu).record(FailureReason.NO_OPERATION, Errno.EOPNOTSUPP, 0, 0, 0, 0);
        return Dma.DMA_MAPPING_ERROR;
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        // Nothing was taken.
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        device.failure(cpu).record(FailureReason.NO_OPERATION, Errno.EOPNOTSUPP, 0, 0, 0, 0);
        return -Errno.EOPNOTSUPP;
    }

    @Override
    public boolean isMaskSupported(Device device, long mask) {
        return false;
    }

    @Override
    public boolean needsSync(Device device, long dmaAddr) {
        return false;
    }

    @Override
    public long maxMappingSize(Device device) {
        return 0;
    }

    @Override
    public long requiredMask(Device device) {
        return 0;
    }
}
