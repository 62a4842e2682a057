package io.pagewalk.trace.predict;

import static io.pagewalk.trace.predict.Lines.NIC;
import static io.pagewalk.trace.predict.Lines.NVME;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.Size;

/** Lines that fit nothing are judged or counted, whatever they say. */
class HostileTraceProperties {
    /** One line of a trace, by number. */
    record Line(int kind, int writer, String device, long addr, long sizeBytes) {}

    @Provide
    Arbitrary<Line> line() {
        Arbitrary<Long> addrs = Arbitraries.of(
                0L, 0x1000L, 0x5000L, 0xffff_f000L, 0xffff_e200L, 0x1000_0000L, 1L << 41, -1L, -4096L, 1L << 63);
        Arbitrary<Long> sizes = Arbitraries.of(0L, 1L, 512L, 4096L, 0x2000L, 262_144L, 262_145L, 1L << 32);
        return net.jqwik.api.Combinators.combine(
                        Arbitraries.integers().between(0, 9),
                        Arbitraries.integers().between(0, 5),
                        Arbitraries.of(NVME, NIC),
                        addrs,
                        sizes)
                .as(Line::new);
    }

    private static String trace(List<Line> all) {
        Lines lines = new Lines();
        lines.alloc(NVME, 0x5000, 8); // an event at least
        for (Line line : all) {
            write(line, lines.by("t-" + line.writer() % 3, line.writer() & 1));
        }
        return lines.toString();
    }

    private static void write(Line line, Lines lines) {
        if (line.writer() > 2) {
            lines.hardirq();
        }
        String device = line.device();
        long addr = line.addr();
        long size = line.sizeBytes();
        switch (line.kind()) {
            case 0 -> lines.bounced(device, addr, size);
            case 1 -> lines.mapPage(device, addr, addr, size);
            case 2 -> lines.unmapPage(device, addr, size);
            case 3 -> lines.mapSg(device, new long[] {addr}, new long[] {size}, new long[] {addr});
            case 4 -> lines.unmapSg(device, addr);
            case 5 -> lines.map(addr, addr, size);
            case 6 -> lines.unmap(addr, size);
            case 7 -> lines.alloc(device, addr, size);
            case 8 -> lines.free(device, addr, size);
            default -> lines.mapSg(device, new long[] {addr, addr}, new long[] {size, 8}, new long[] {addr, 0x7000});
        }
    }

    @Property(tries = 150)
    void noTraceBreaksAPrediction(@ForAll @Size(max = 40) List<@net.jqwik.api.From("line") Line> all)
            throws IOException {
        for (String log : List.of(Predictions.SMALL_POOL, Predictions.STRICT, Predictions.LAZY)) {
            Predictions prediction = Predictions.of(log, trace(all));
            Figures figures = prediction.result().inLineOrder();
            for (Map.Entry<AddressKind, Long> kind : figures.judged().entrySet()) {
                assertThat(figures.predicted().getOrDefault(kind.getKey(), 0L)).isLessThanOrEqualTo(kind.getValue());
            }
            long missed = prediction.misses().stream()
                    .filter(miss -> miss.order() == Miss.Order.OF_LINES)
                    .count();
            assertThat(missed).isEqualTo(figures.allJudged() - figures.allPredicted());
        }
    }
}
