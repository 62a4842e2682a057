package io.pagewalk.dma.debug;

import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The files of the kernel's debugfs directory {@code dma-api}.
 *
 * <p>Implements dma-core:DBG-74 to DBG-76. Thread-safe.
 */
public final class DmaDebugFiles {
    /** The names of all files. */
    public static final List<String> NAMES = List.of(
            "disabled",
            "error_count",
            "all_errors",
            "num_errors",
            "num_free_entries",
            "min_free_entries",
            "nr_total_entries",
            "driver_filter",
            "dump");

    private static final List<String> WRITABLE = List.of("all_errors", "num_errors", "driver_filter");
    private static final int READ_ONLY = 0444;
    private static final int READ_WRITE = 0644;

    private final Object lock;
    private final Ledger ledger;
    private final Reporter reporter;

    DmaDebugFiles(Object lock, Ledger ledger, Reporter reporter) {
        this.lock = lock;
        this.ledger = ledger;
        this.reporter = reporter;
    }

    /**
     * Who may do what with a file.
     *
     * @param name one of {@link #NAMES}
     * @return 0444 or 0644
     * @throws IllegalArgumentException when there is no such file
     */
    public int mode(String name) {
        requireFile(name);
        return WRITABLE.contains(name) ? READ_WRITE : READ_ONLY;
    }

    private static void requireFile(String name) {
        if (!NAMES.contains(name)) {
            throw new IllegalArgumentException("there is no file " + name + " in dma-api, but " + NAMES);
        }
    }

    /**
     * Reads a file.
     *
     * @param name one of {@link #NAMES}
     * @return its text
     * @throws IllegalArgumentException when there is no such file
     */
    public String read(String name) {
        requireFile(name);
        synchronized (lock) {
            return switch (name) {
                case "disabled" -> ledger.isDisabled() ? "Y\n" : "N\n";
                case "error_count" -> line(reporter.limits.errorCount());
                case "all_errors" -> line(reporter.limits.allErrors());
                case "num_errors" -> line(reporter.limits.errorsShown());
                case "num_free_entries" -> line(ledger.pool.free());
                case "min_free_entries" -> line(ledger.pool.minFree());
                case "nr_total_entries" -> line(ledger.pool.total());
                case "driver_filter" -> filter();
                default -> dump();
            };
        }
    }

    private static String line(long number) {
        return Long.toUnsignedString(number) + "\n";
    }

    private String filter() {
        String name = reporter.limits.filter.name();
        return name.isEmpty() ? "" : name + "\n";
    }

    /**
     * Writes a file.
     *
     * @param name {@code all_errors}, {@code num_errors} or {@code driver_filter}
     * @param text a decimal number that fits in 32 bits, or the name of a driver
     * @return how many characters were taken: all
     * @throws IllegalArgumentException when the file cannot be written, or the text is no such number
     */
    public int write(String name, String text) {
        Objects.requireNonNull(text, "text");
        requireFile(name);
        if (!WRITABLE.contains(name)) {
            throw new IllegalArgumentException(name + " is read-only");
        }
        synchronized (lock) {
            switch (name) {
                case "all_errors" -> reporter.limits.allErrors(number(text));
                case "num_errors" -> reporter.limits.errorsShown(number(text));
                default -> reporter.limits.filter.write(text);
            }
        }
        return text.length();
    }

    private static long number(String text) {
        return Integer.toUnsignedLong(Integer.parseUnsignedInt(text.strip()));
    }

    /** One line for each record, in bucket order (DBG-76). */
    private String dump() {
        StringBuilder text = new StringBuilder();
        ledger.table.forEach(r -> text.append(dumpLine(r)).append('\n'));
        return text.toString();
    }

    private String dumpLine(DebugRecord record) {
        return String.format(
                "%s %s %s idx %d P=%s D=%x L=%x cln=%s DMA_%s %s",
                driverOf(record.device),
                record.device == null ? "NULL" : record.device.name(),
                record.type.kernelName(),
                RecordTable.bucketOf(record.dmaAddr),
                record.physAddr == DmaCall.UNKNOWN_PHYS_ADDR ? "unknown" : address(record.physAddr),
                record.dmaAddr,
                record.sizeBytes,
                record.physAddr == DmaCall.UNKNOWN_PHYS_ADDR
                        ? "unknown"
                        : Addresses.hex(ledger.lines.lineOf(record.physAddr)),
                record.direction,
                record.errorCheck.text());
    }

    private static String address(long physAddr) {
        return String.format("0x%016x", physAddr);
    }

    private static String driverOf(@Nullable DebugDevice device) {
        return device == null ? "NULL" : device.driverString();
    }
}
