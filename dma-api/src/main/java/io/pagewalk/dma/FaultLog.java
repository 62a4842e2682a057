package io.pagewalk.dma;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The faults of a machine's buses: exact counts, and the latest records in a ring that is allocated once.
 *
 * <p>Thread-safe. A handler runs on the thread of the access, outside the log's lock, and makes each fault cost an
 * object.
 */
public final class FaultLog {
    /** How many records are kept. */
    public static final int KEPT = 256;

    /** Told of every fault, as a fault interrupt would. */
    @FunctionalInterface
    public interface Handler {
        /**
         * Takes a fault.
         *
         * @param fault the record
         */
        void faulted(BusFault fault);
    }

    private final VirtualClock clock;
    private final @Nullable Device[] devices = new @Nullable Device[KEPT];
    private final long[] dmaAddrs = new long[KEPT];
    private final long[] times = new long[KEPT];
    private final Access[] accesses = new Access[KEPT];
    private final int[] codes = new int[KEPT];
    private long count;
    private volatile @Nullable Handler handler;

    FaultLog(VirtualClock clock) {
        this.clock = clock;
    }

    /**
     * Sets who is told of each fault.
     *
     * @param newHandler the handler, or null for nobody
     */
    public void onFault(@Nullable Handler newHandler) {
        handler = newHandler;
    }

    void record(Device device, long dmaAddr, Access access, int code) {
        long sequence = store(device, dmaAddr, access, code);
        Handler told = handler;
        if (told != null) {
            told.faulted(new BusFault(sequence, clock.nowNanos(), device, dmaAddr, access, code));
        }
    }

    private synchronized long store(Device device, long dmaAddr, Access access, int code) {
        int at = (int) (count % KEPT);
        devices[at] = device;
        dmaAddrs[at] = dmaAddr;
        times[at] = clock.nowNanos();
        accesses[at] = access;
        codes[at] = code;
        return count++;
    }

    /**
     * How many faults there were.
     *
     * @return the exact count
     */
    public synchronized long count() {
        return count;
    }

    /**
     * The latest faults, oldest first.
     *
     * @return at most {@link #KEPT} records
     */
    public synchronized List<BusFault> recent() {
        List<BusFault> recent = new ArrayList<>();
        for (long sequence = Math.max(0, count - KEPT); sequence < count; sequence++) {
            int at = (int) (sequence % KEPT);
            Device device = devices[at];
            if (device != null) {
                recent.add(new BusFault(sequence, times[at], device, dmaAddrs[at], accesses[at], codes[at]));
            }
        }
        return recent;
    }
}
