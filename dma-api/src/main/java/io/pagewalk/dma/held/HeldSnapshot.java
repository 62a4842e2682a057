package io.pagewalk.dma.held;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.events.LiveRange;
import io.pagewalk.dma.events.MappingLedger;
import io.pagewalk.dma.events.OwnerAccount;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.spi.Metric;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Everything a machine holds at one moment: mappings and allocations with their owners, what the backend counts, and
 * the tables of the backend and of modules above. Immutable.
 *
 * @param timeNanos the machine's time
 * @param backend the backend's variant
 * @param hasLedger whether the machine keeps a ledger; without one, ranges and owners are empty
 * @param ranges mappings and allocations, by device and address
 * @param owners what each owner holds
 * @param metrics what the backend counts, in the order of {@link Metric}
 * @param sections tables of {@link HeldSource}s, in the order in which those were added
 */
public record HeldSnapshot(
        long timeNanos,
        String backend,
        boolean hasLedger,
        List<HeldRange> ranges,
        List<OwnerAccount> owners,
        Map<Metric, Long> metrics,
        List<HeldSection> sections) {
    /**
     * Copies lists and map.
     *
     * @param timeNanos the machine's time
     * @param backend the backend's variant
     * @param hasLedger whether the machine keeps a ledger
     * @param ranges mappings and allocations
     * @param owners what each owner holds
     * @param metrics what the backend counts
     * @param sections tables of sources
     */
    public HeldSnapshot {
        ranges = List.copyOf(ranges);
        owners = List.copyOf(owners);
        Map<Metric, Long> ordered = new EnumMap<>(Metric.class);
        ordered.putAll(metrics);
        metrics = Collections.unmodifiableMap(ordered);
        sections = List.copyOf(sections);
    }

    /**
     * Looks at a machine. Exact while no call is running on it.
     *
     * @param machine the machine
     * @param sources who else holds something of it
     * @return the snapshot
     */
    public static HeldSnapshot of(Machine machine, List<HeldSource> sources) {
        MappingLedger ledger = machine.ledger();
        Map<Metric, Long> metrics = new EnumMap<>(Metric.class);
        machine.report(metrics::put);
        return new HeldSnapshot(
                machine.clock().nowNanos(),
                machine.backendName(),
                ledger != null,
                ledger == null
                        ? List.of()
                        : ledger.live().stream().map(HeldRange::of).toList(),
                ledger == null ? List.of() : ledger.accounts(),
                metrics,
                sources.stream().flatMap(source -> source.held().stream()).toList());
    }

    /**
     * All of it as text: a heading for each table, columns aligned.
     *
     * @return lines, each with its end
     */
    public String text() {
        StringBuilder text = new StringBuilder();
        text.append("held at ")
                .append(timeNanos)
                .append(" ns, backend ")
                .append(backend)
                .append('\n');
        if (hasLedger) {
            print(text, rangeSection());
            print(text, ownerSection());
        } else {
            text.append("\nno ledger: mappings, allocations and owners are not known\n");
        }
        print(text, metricSection());
        sections.forEach(section -> print(text, section));
        return text.toString();
    }

    private HeldSection rangeSection() {
        List<List<String>> rows = new ArrayList<>();
        for (HeldRange range : ranges) {
            rows.add(List.of(
                    range.device(),
                    range.kind().label(),
                    Addresses.hex(range.dmaAddr()),
                    Long.toUnsignedString(range.sizeBytes()),
                    range.direction().name(),
                    range.physAddr() == LiveRange.UNKNOWN_PHYS_ADDR ? "-" : Addresses.hex(range.physAddr()),
                    range.owner(),
                    Long.toString(timeNanos - range.sinceNanos())));
        }
        return new HeldSection(
                "mappings and allocations",
                List.of("device", "kind", "address", "bytes", "direction", "physical", "owner", "age ns"),
                rows);
    }

    private HeldSection ownerSection() {
        List<List<String>> rows = new ArrayList<>();
        for (OwnerAccount account : owners) {
            rows.add(List.of(
                    account.owner().isEmpty() ? "(untagged)" : account.owner(),
                    Long.toString(account.mappings()),
                    Long.toUnsignedString(account.mappedBytes()),
                    Long.toString(account.allocations()),
                    Long.toUnsignedString(account.allocatedBytes())));
        }
        return new HeldSection(
                "owners", List.of("owner", "mappings", "bytes mapped", "allocations", "bytes allocated"), rows);
    }

    private HeldSection metricSection() {
        List<List<String>> rows = new ArrayList<>();
        metrics.forEach((metric, value) -> rows.add(List.of(metric.label(), Long.toUnsignedString(value))));
        return new HeldSection("backend", List.of("what", "value"), rows);
    }

    private static void print(StringBuilder text, HeldSection section) {
        text.append('\n').append(section.name()).append('\n');
        if (section.rows().isEmpty()) {
            text.append("  none\n");
            return;
        }
        int[] widths = new int[section.columns().size()];
        widen(widths, section.columns());
        section.rows().forEach(row -> widen(widths, row));
        printRow(text, widths, section.columns());
        section.rows().forEach(row -> printRow(text, widths, row));
    }

    private static void widen(int[] widths, List<String> cells) {
        for (int i = 0; i < widths.length; i++) {
            widths[i] = Math.max(widths[i], cells.get(i).length());
        }
    }

    private static void printRow(StringBuilder text, int[] widths, List<String> cells) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            line.append("  ")
                    .append(cells.get(i))
                    .append(" ".repeat(widths[i] - cells.get(i).length()));
        }
        text.append(line.toString().stripTrailing()).append('\n');
    }
}
