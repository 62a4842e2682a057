package io.pagewalk.dma.spi;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * {@code dma_dummy_ops}: the operations of a device that must not do DMA. Every map fails, no mask is supported, and an
 * unmap is a bug of the driver.
 *
 * <p>Implements dma-core:SEL-7. Stateless.
 */
public final class DummyOps implements DmaOps {
    /** Makes the operations. */
    public DummyOps() {}

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        device.failure(cpu).record(FailureReason.NO_OPERATION, Errno.ENOMEM, 0, 0, 0, 0);
        return Dma.DMA_MAPPING_ERROR;
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        warn(device, "dma_dummy_unmap_page");
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        device.failure(cpu).record(FailureReason.NO_OPERATION, Errno.EINVAL, 0, 0, 0, 0);
        return -Errno.EINVAL;
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        warn(device, "dma_dummy_unmap_sg");
    }

    @Override
    public void unmapResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        warn(device, "dma_dummy_unmap_resource");
    }

    private static void warn(Device device, String call) {
        device.machine()
                .log()
                .site(call)
                .warnOnce(() -> device.name() + " must not do DMA, and unmaps (dma-core:SEL-7)");
    }

    @Override
    public boolean isMaskSupported(Device device, long mask) {
        return false;
    }
}
