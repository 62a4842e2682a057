package io.pagewalk.dma.events;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import java.util.ArrayDeque;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Byte-exact checking: whether each device access stays in the bytes of its mapping, which no hardware looks at within
 * a page, and dma-direct not at all.
 *
 * <p>What the DMA API does not know counts as a stray access too: memory that a device reaches through a domain of
 * somebody's own. Thread-safe; a handler runs on the thread of the access, outside any lock.
 */
public final class StrayAccesses {
    /** How many records are kept. */
    public static final int KEPT = 256;

    /** Told of every stray access. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Takes a stray access.
         *
         * @param access the record
         */
        void strayed(StrayAccess access);
    }

    private final MappingLedger ledger;
    private final LongSupplier nowNanos;
    private final ArrayDeque<StrayAccess> recent = new ArrayDeque<>();
    private long count;
    private volatile @Nullable Handler handler;

    /**
     * Starts without a record.
     *
     * @param ledger knows what is mapped
     * @param nowNanos the machine's time
     */
    public StrayAccesses(MappingLedger ledger, LongSupplier nowNanos) {
        this.ledger = ledger;
        this.nowNanos = nowNanos;
    }

    /**
     * Sets who is told of each stray access.
     *
     * @param newHandler the handler, or null for nobody
     */
    public void onStray(@Nullable Handler newHandler) {
        handler = newHandler;
    }

    /**
     * Checks an access that was made.
     *
     * @param device who accessed
     * @param dmaAddr first byte
     * @param sizeBytes how many bytes got through; none are no access
     * @param access what was done
     */
    public void check(Device device, long dmaAddr, long sizeBytes, Access access) {
        long inside = sizeBytes == 0 ? 0 : ledger.bytesInside(device, dmaAddr, sizeBytes);
        if (inside != sizeBytes) {
            StrayAccess stray = keep(device, dmaAddr, sizeBytes, access, inside);
            Handler told = handler;
            if (told != null) {
                told.strayed(stray);
            }
        }
    }

    private StrayAccess keep(Device device, long dmaAddr, long sizeBytes, Access access, long inside) {
        String surroundings = ledger.describe(device, dmaAddr + inside);
        synchronized (recent) {
            StrayAccess stray = new StrayAccess(
                    count, nowNanos.getAsLong(), device, dmaAddr, sizeBytes, access, inside, surroundings);
            count++;
            if (recent.size() == KEPT) {
                recent.removeFirst();
            }
            recent.addLast(stray);
            return stray;
        }
    }

    /**
     * How many there were.
     *
     * @return the exact count
     */
    public long count() {
        synchronized (recent) {
            return count;
        }
    }

    /**
     * The latest ones, oldest first.
     *
     * @return at most {@link #KEPT} records
     */
    public List<StrayAccess> recent() {
        synchronized (recent) {
            return List.copyOf(recent);
        }
    }
}
