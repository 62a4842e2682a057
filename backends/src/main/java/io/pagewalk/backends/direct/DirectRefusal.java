package io.pagewalk.backends.direct;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.FailureSlot;
import io.pagewalk.dma.KernelLog;

/**
 * What dma-direct says when it refuses a mapping: the kernel's messages, each once for a call site, and the cause.
 *
 * <p>Implements dma-core:DIR-11, and of SWM-10 and DIR-40 the messages. Thread-safe.
 */
final class DirectRefusal {
    private final KernelLog.Site pageOverflow;
    private final KernelLog.Site sgOverflow;
    private final KernelLog.Site bounceOverflow;
    private final KernelLog.Site resourceOverflow;
    private final KernelLog.Site resourceWarning;

    DirectRefusal(KernelLog log) {
        pageOverflow = log.site("dma_direct_map_page: overflow");
        sgOverflow = log.site("dma_direct_map_sg: overflow");
        bounceOverflow = log.site("swiotlb_map: overflow");
        resourceOverflow = log.site("dma_direct_map_resource: overflow");
        resourceWarning = log.site("dma_direct_map_resource");
    }

    /** Where single mappings overflow. */
    KernelLog.Site pageSite() {
        return pageOverflow;
    }

    /** Where lists overflow. */
    KernelLog.Site sgSite() {
        return sgOverflow;
    }

    /** Out of reach, or to be bounced for its size, and no pool. */
    long withoutPool(Device device, int cpu, long physAddr, long dmaAddr, long sizeBytes, KernelLog.Site site) {
        if (site.isFirst()) {
            site.warn(overflowText(device, "DMA", dmaAddr, sizeBytes, "DIR-11"));
        }
        FailureSlot failure = device.failure(cpu);
        if (dmaAddr == -1L && device.hasRanges()) {
            failure.record(FailureReason.NO_RANGE, Errno.ENOMEM, physAddr, sizeBytes, 0, 0);
        } else if (DirectReach.isCapable(device, dmaAddr, sizeBytes)) {
            failure.record(FailureReason.NO_POOL, Errno.ENOMEM, physAddr, sizeBytes, 0, 0);
        } else {
            tooSmall(device, cpu, dmaAddr, sizeBytes);
        }
        return Dma.DMA_MAPPING_ERROR;
    }

    private static void tooSmall(Device device, int cpu, long dmaAddr, long sizeBytes) {
        device.failure(cpu)
                .record(
                        FailureReason.MASK_TOO_SMALL,
                        Errno.ENOMEM,
                        dmaAddr,
                        sizeBytes,
                        device.streamingMask(),
                        device.busLimit());
    }

    /** The bounce buffer is out of reach too (SWM-10). */
    long pool(Device device, int cpu, long dmaAddr, long sizeBytes) {
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

    /** A page of a peer cannot be bounced: an error without a message (DIR-10). */
    long peerPage(Device device, int cpu, long physAddr, long sizeBytes) {
        device.failure(cpu).record(FailureReason.PEER_UNREACHABLE, Errno.ENOMEM, physAddr, sizeBytes, 0, 0);
        return Dma.DMA_MAPPING_ERROR;
    }

    long resource(Device device, int cpu, long physAddr, long sizeBytes) {
        if (resourceOverflow.isFirst()) {
            resourceOverflow.message(overflowText(device, "resource", physAddr, sizeBytes, "DIR-40"));
        }
        if (resourceWarning.isFirst()) {
            resourceWarning.warn(overflowText(device, "resource", physAddr, sizeBytes, "DIR-40"));
        }
        tooSmall(device, cpu, physAddr, sizeBytes);
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
}
