package io.pagewalk.dma;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the machine's kernel would have logged: WARNs and plain messages, and the hazards that it would have missed;
 * counted exactly by site, kept up to a bound, and passed to SLF4J once a site.
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
        /** The kernel went wrong and did not notice: it touched what it should not have. Nothing is logged there. */
        HAZARD,
        /** A plain message. */
        MESSAGE,
        /** What the kernel says of itself when all is well; not passed to SLF4J as a warning. */
        INFO
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
    private final Map<String, Site> sites = new HashMap<>();
    private long sequence;
    private long warnCount;
    private long hazardCount;
    private boolean fatal;
    private boolean hazardFatal;

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
        countWarn(site, text);
    }

    private synchronized void countWarn(String site, String text) {
        warnCount++;
        if (fatal) {
            throw new KernelWarnException(site + ": " + text);
        }
    }

    /**
     * Makes every hazard from now on throw {@link KernelHazardException}, after it was recorded.
     *
     * @param yes whether hazards are fatal
     */
    public synchronized void hazardsAreFatal(boolean yes) {
        hazardFatal = yes;
    }

    /**
     * Records that the kernel would have gone wrong here without a word.
     *
     * @param name the hazard's constant name
     * @param text what, with its numbers
     * @throws KernelHazardException when hazards are fatal
     */
    public void hazard(String name, String text) {
        add(Kind.HAZARD, name, text);
        countHazard(name, text);
    }

    private synchronized void countHazard(String name, String text) {
        hazardCount++;
        if (hazardFatal) {
            throw new KernelHazardException(name + ": " + text);
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

    /**
     * Records that all is well.
     *
     * @param site where, a short constant name
     * @param text what, with its numbers
     */
    public void info(String site, String text) {
        add(Kind.INFO, site, text);
    }

    /**
     * Finds or makes a place that logs, for those who pass it often: it tells whether a text is wanted before one is
     * built.
     *
     * @param name its short constant name
     * @return the place, the same for the same name
     */
    public synchronized Site site(String name) {
        return sites.computeIfAbsent(Objects.requireNonNull(name, "name"), Site::new);
    }

    private void add(Kind kind, String name, String text) {
        Objects.requireNonNull(text, "text");
        Site site = site(name);
        site.count.incrementAndGet();
        keep(kind, site, text);
    }

    private synchronized void keep(Kind kind, Site site, String text) {
        Objects.requireNonNull(text, "text");
        if (kept.size() == KEPT) {
            kept.removeFirst();
        }
        kept.addLast(new Entry(sequence++, clock.nowNanos(), kind, site.name, text));
        site.warned |= kind == Kind.WARN;
        if (!site.toldSlf4j) {
            site.toldSlf4j = true;
            tellSlf4j(kind, site.name, text);
        }
    }

    private static void tellSlf4j(Kind kind, String site, String text) {
        if (kind == Kind.INFO) {
            LOGGER.info("{}: {}", site, text);
        } else {
            LOGGER.warn("{}: {}", site, text);
        }
    }

    /**
     * Lets every place that WARNs once do so again, as {@code clear_warn_once} of the kernel's debugfs does. Messages
     * without a stack trace that are logged once keep a flag of their own, there as here. Counts stay.
     */
    public synchronized void rearmWarnings() {
        sites.values().stream().filter(s -> s.warned).forEach(s -> s.passed.set(false));
    }

    /**
     * How often a site logged.
     *
     * @param site its name
     * @return the exact count, of what was left out because it is logged once or at a limited rate too
     */
    public synchronized long count(String site) {
        Site found = sites.get(Objects.requireNonNull(site, "site"));
        return found == null ? 0 : found.count.get();
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
     * How many hazards there were.
     *
     * @return the exact count
     */
    public synchronized long hazardCount() {
        return hazardCount;
    }

    /**
     * The latest entries, oldest first.
     *
     * @return a copy
     */
    public synchronized List<Entry> entries() {
        return new ArrayList<>(kept);
    }

    /** A place that logs only once, or at a limited rate. Passing it allocates nothing. Thread-safe. */
    public final class Site {
        /** How many messages a limited place logs in {@link #RATE_INTERVAL_NANOS}. */
        public static final int RATE_BURST = 10;

        /** The kernel's default interval of limited messages, in nanoseconds of the machine's time. */
        public static final long RATE_INTERVAL_NANOS = 5_000_000_000L;

        private final String name;
        private final AtomicLong count = new AtomicLong();
        private final AtomicBoolean passed = new AtomicBoolean();
        private boolean warned;
        private boolean toldSlf4j;
        private long intervalStart;
        private int loggedInInterval;

        private Site(String name) {
            this.name = name;
        }

        /**
         * Counts an occurrence of something that the kernel logs once.
         *
         * @return true for the first one, whose text is wanted, and for the first one after {@link #rearmWarnings()}
         */
        public boolean isFirst() {
            count.incrementAndGet();
            return !passed.get() && passed.compareAndSet(false, true);
        }

        /**
         * Counts an occurrence of something that the kernel logs at a limited rate.
         *
         * @return true when its text is wanted
         */
        public boolean isWithinRate() {
            count.incrementAndGet();
            synchronized (KernelLog.this) {
                long now = clock.nowNanos();
                if (now - intervalStart >= RATE_INTERVAL_NANOS) {
                    intervalStart = now;
                    loggedInInterval = 0;
                }
                if (loggedInInterval == RATE_BURST) {
                    return false;
                }
                loggedInInterval++;
                return true;
            }
        }

        /**
         * Records a WARN of an occurrence that was counted.
         *
         * @param text what, with its numbers
         * @throws KernelWarnException when WARNs are fatal
         */
        public void warn(String text) {
            keep(Kind.WARN, this, text);
            countWarn(name, text);
        }

        /**
         * Counts an occurrence of something that the kernel WARNs about once, and records the first.
         *
         * @param text what, with its numbers; asked for the first time only
         * @throws KernelWarnException when WARNs are fatal and it is the first
         */
        public void warnOnce(Supplier<String> text) {
            if (isFirst()) {
                warn(text.get());
            }
        }

        /**
         * Records a plain message of an occurrence that was counted.
         *
         * @param text what, with its numbers
         */
        public void message(String text) {
            keep(Kind.MESSAGE, this, text);
        }
    }
}
