package io.pagewalk.backends.direct;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * Bouncing of small buffers that may share a cache line with other data, which invalidating it would lose.
 *
 * <p>Implements dma-core:DIR-12. Immutable.
 */
final class KmallocBounce {
    private static final long LARGEST_ODD_BUCKET = 192;
    private static final long SMALLEST_BUCKET = 8;

    private final long safeBytes;
    private final long alignMask;

    private KmallocBounce(ArchConfig arch) {
        safeBytes = 2L * arch.dmaMinAlign();
        alignMask = arch.cacheAlignment() - 1L;
    }

    /** The rule of an architecture, null when it has none. */
    static @Nullable KmallocBounce of(ArchConfig arch) {
        return arch.bouncesUnalignedKmalloc() ? new KmallocBounce(arch) : null;
    }

    /** Whether a buffer is bounced for its size alone; the buffer itself is not looked at. */
    boolean isNeeded(Device device, long sizeBytes, DmaDirection direction) {
        return !device.isCoherent()
                && direction != DmaDirection.TO_DEVICE
                && Addresses.lessThan(sizeBytes, safeBytes)
                && (bucketBytes(sizeBytes) & alignMask) != 0;
    }

    /** {@code kmalloc_size_roundup}: powers of two from 8 on, 96 and 192; 0 for nothing. */
    static long bucketBytes(long sizeBytes) {
        if (sizeBytes == 0) {
            return 0;
        }
        long power = sizeBytes <= SMALLEST_BUCKET ? SMALLEST_BUCKET : Long.highestOneBit(sizeBytes - 1) << 1;
        long odd = power / 4 * 3;
        boolean hasOdd = odd == LARGEST_ODD_BUCKET / 2 || odd == LARGEST_ODD_BUCKET;
        return hasOdd && sizeBytes <= odd ? odd : power;
    }
}
