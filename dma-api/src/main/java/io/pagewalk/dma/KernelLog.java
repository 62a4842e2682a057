package io.pagewalk.dma;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the machine's kernel would have logged: WARNs and plain messages, counted exactly by site, kept up to a bound,
 * and passed to SLF4J once a site.
 *
 * <p>Thread-safe.
 */
public final class KernelLog {
    /** How many entries are kept; older ones leave, the counts stay. */
    public static final int KEPT = 1024;

    private static final Logger LOGGER = LoggerFactory.getLogger(KernelLog.class);

    /** What kind of entry it is. */
    public enum Kind {
        /** A WARN with a stack trace in the kernel: something is wrong in a driver or in the kernel. */
        WARN,
        /** A plain message. */
        MESSAGE
    }

    /**
     * One entry.
     *
     * @param sequence counts entries from 0
     * @param timeNanos the machine's time
     * @param kind WARN or message
     * @param site a short name of the place that logged
     * @param text what it said
     */
    public record Entry(long sequence, long timeNanos, Kind kind, String site, String text) {}

    private final VirtualClock clock;
    private final ArrayDeque<Entry> kept = new ArrayDeque<>();
    private final Map<String, Long> countBySite = new HashMap<>();
    private long sequence;
    private long warnCount;
    private boolean fatal;

    KernelLog(VirtualClock clock) {
        this.clock = clock;
    }

    /**
     * Makes every WARN from now on throw {@link KernelWarnException}, after it was recorded.
     *
     * @param yes whether WARNs are fatal
     */
    public synchronized void warnsAreFatal(boolean yes) {
        fatal = yes;
    }

    /**
     * Records a WARN.
     *
     * @param site where, a short constant name
     * @param text what, with its numbers
     * @throws KernelWarnException when WARNs are fatal
     */
    public void warn(String site, String text) {
        add(Kind.WARN, site, text);
        synchronized (this) {
            warnCount++;
            if (fatal) {
                throw new KernelWarnException(site + ": " + text);
            }
        }
    }

    /**
     * Records a plain message.
     *
     * @param site where, a short constant name
     * @param text what, with its numbers
     */
    public void message(String site, String text) {
        add(Kind.MESSAGE, site, text);
    }

    private synchronized void add(Kind kind, String site, String text) {
        if (kept.size() == KEPT) {
            kept.removeFirst();
        }
        kept.addLast(new Entry(sequence++, clock.nowNanos(), kind, site, text));
        if (countBySite.merge(site, 1L, Long::sum) == 1) {
            LOGGER.warn("{}: {}", site, text);
        }
    }

    /**
     * How often a site logged.
     *
     * @param site its name
     * @return the exact count
     */
    public synchronized long count(String site) {
        return countBySite.getOrDefault(site, 0L);
    }

    /**
     * How many WARNs there were.
     *
     * @return the exact count
     */
    public synchronized long warnCount() {
        return warnCount;
    }

    /**
     * The latest entries, oldest first.
     *
     * @return a copy
     */
    public synchronized List<Entry> entries() {
        return new ArrayList<>(kept);
    }
}
