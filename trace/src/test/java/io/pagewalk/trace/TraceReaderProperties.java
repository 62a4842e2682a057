package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.trace.IommuEvent.GroupChange;
import io.pagewalk.trace.TraceText.Dialect;
import java.io.IOException;
import java.util.List;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.Tuple.Tuple2;
import net.jqwik.api.statistics.Statistics;

/** What holds for any event, and for any damage to a line. */
class TraceReaderProperties {
    private static final List<String> EVENT_NAMES = Stream.of(
                    DmaEvent.class, SgEvent.class, IommuEvent.class, TraceEvent.class)
            .flatMap(family -> Stream.of(family.getDeclaredClasses()))
            .filter(type -> type.isRecord() && type != TraceEvent.LostEvents.class)
            .map(Class::getSimpleName)
            .toList();

    @Property(tries = 2000, edgeCases = EdgeCasesMode.NONE)
    void anEventReadsBackFromEveryFormat(@ForAll("written") Tuple2<TraceEvent, Dialect> written) throws IOException {
        TraceEvent event = written.get1();
        String line = TraceText.line(event, written.get2());
        TraceEvent read = Traces.parse(line);
        assertThat(read).as(line).isEqualTo(event).hasSameHashCodeAs(event);
        Statistics.label("event").collect(event.getClass().getSimpleName());
        Statistics.label("event")
                .coverage(coverage ->
                        EVENT_NAMES.forEach(name -> coverage.check(name).count(count -> count > 5)));
        Statistics.label("format").collect(written.get2());
        Statistics.label("format")
                .coverage(coverage -> Stream.of(Dialect.values())
                        .forEach(dialect -> coverage.check(dialect).percentage(share -> share > 10)));
    }

    @Property(tries = 2000)
    void aLenientReaderSurvivesAnyDamage(@ForAll("damaged") String line) throws IOException {
        String text = Traces.GOOD_LINE + "\n" + line + "\n" + Traces.GOOD_LINE;
        try (TraceReader reader = Traces.reader(text)) {
            List<TraceEvent> events = Traces.drain(reader);
            TraceSummary summary = reader.summary();
            assertThat(events).hasSizeGreaterThanOrEqualTo(2);
            assertThat(summary.firstBadLines()).hasSizeLessThanOrEqualTo((int) summary.badLineCount());
            Statistics.label("line").collect(summary.badLineCount() > 0 ? "bad" : "still good");
            Statistics.label("line").coverage(coverage -> {
                coverage.check("bad").percentage(share -> share > 20);
                coverage.check("still good").percentage(share -> share > 5);
            });
        }
    }

    @Property(tries = 2000)
    void aPedanticReaderThrowsNothingButFormatExceptions(@ForAll("damaged") String line) throws IOException {
        String text = Traces.GOOD_LINE + "\n" + line + "\n" + Traces.GOOD_LINE;
        long thrown = 0;
        try (TraceReader reader =
                Traces.reader(text, TraceReader.Options.defaults().pedantic(true))) {
            boolean more = true;
            while (more) {
                try {
                    more = reader.next() != null;
                } catch (TraceFormatException expected) {
                    thrown++;
                }
            }
            assertThat(reader.summary().badLineCount()).isEqualTo(thrown);
        }
    }

    @Provide
    Arbitrary<String> damaged() {
        List<String> lines = Traces.ALL.stream()
                .flatMap(file -> Traces.lines(file).stream().limit(600))
                .filter(line -> line.length() < 700)
                .toList();
        return Combinators.combine(
                        Arbitraries.of(lines), changes().list().ofMinSize(1).ofMaxSize(4))
                .as(TraceReaderProperties::apply);
    }

    /** Delete, insert or replace characters at a place given as a share of the line. */
    record Change(int kind, double place, String text) {
        void apply(StringBuilder line) {
            int at = (int) (place * line.length());
            int end = kind == 0 ? Math.min(line.length(), at + text.length()) : at;
            switch (kind) {
                case 0 -> line.replace(at, end, text);
                case 1 -> line.insert(at, text);
                case 2 -> line.delete(at, Math.min(line.length(), at + text.length()));
                default -> line.setLength(at);
            }
        }
    }

    private static Arbitrary<Change> changes() {
        Arbitrary<String> texts = Arbitraries.strings()
                .withChars(" :[]{}=,.-/|#0123456789abcdefxABCDEFTO_\n\r\t")
                .withCharRange('\u0001', '\u00ff')
                .ofMinLength(1)
                .ofMaxLength(3);
        Arbitrary<Integer> kinds =
                Arbitraries.frequency(Tuple.of(4, 0), Tuple.of(4, 1), Tuple.of(4, 2), Tuple.of(1, 3));
        return Combinators.combine(kinds, Arbitraries.doubles().between(0, 1), texts)
                .as(Change::new);
    }

    private static String apply(String line, List<Change> changes) {
        StringBuilder damaged = new StringBuilder(line);
        changes.forEach(change -> change.apply(damaged));
        return damaged.toString();
    }

    /** An event that still lacks its header. */
    @FunctionalInterface
    interface Body extends Function<TraceHeader, TraceEvent> {}

    @Provide
    Arbitrary<Tuple2<TraceEvent, Dialect>> written() {
        return Combinators.combine(Arbitraries.of(Dialect.class), headers(), bodies())
                .as((dialect, header, body) -> fit(body.apply(header), body, dialect));
    }

    /** Leaves out of the header what the format does not carry; perf carries no marks. */
    private static Tuple2<TraceEvent, Dialect> fit(TraceEvent event, Body body, Dialect wanted) {
        boolean carried = wanted.hasMarks() || !(event instanceof TraceEvent.Mark);
        Dialect dialect = carried ? wanted : Dialect.REPORT;
        TraceHeader h = event.header();
        String task = h.task()
                .substring(0, Math.min(h.task().length(), dialect.longestTask()))
                .trim();
        String flags = dialect.hasFlags() ? h.flags() : "";
        long nanos = h.timestampNanos() / dialect.tickNanos() * dialect.tickNanos();
        return Tuple.of(body.apply(new TraceHeader(1, task, h.pid(), h.cpu(), flags, nanos)), dialect);
    }

    private static Arbitrary<TraceHeader> headers() {
        Arbitrary<String> tasks = Arbitraries.strings()
                .withChars("abzAZ09 -:/[]<>()._#,=\u00e9")
                .ofMaxLength(15)
                .map(String::trim);
        Arbitrary<String> flags = Combinators.combine(
                        Arbitraries.of('.', 'd', 'D', 'b'),
                        Arbitraries.strings().withChars(".nNhHsS123").ofLength(4))
                .as((irqs, others) -> irqs + others);
        return Combinators.combine(
                        tasks,
                        Arbitraries.integers().between(0, 4 << 20),
                        Arbitraries.integers().between(0, 8191),
                        flags,
                        Arbitraries.longs().between(0, 1_000_000_000_000_000_000L))
                .as((task, pid, cpu, flag, nanos) -> new TraceHeader(1, task, pid, cpu, flag, nanos));
    }

    private static Arbitrary<Body> bodies() {
        return Arbitraries.oneOf(rangeBodies(), listBodies(), otherBodies());
    }

    /** Device, direction, address and size of an event. */
    record Range(String device, DmaDirection direction, long dmaAddr, long sizeBytes, long physAddr, long attrs) {}

    private static Arbitrary<Range> ranges() {
        return Combinators.combine(
                        devices(), Arbitraries.of(DmaDirection.class), numbers(), numbers(), numbers(), attrs())
                .as(Range::new);
    }

    private static Arbitrary<Body> rangeBodies() {
        List<Function<Range, Body>> makers = List.of(
                r -> h -> new DmaEvent.MapPage(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, r.physAddr, r.attrs),
                r -> h -> new DmaEvent.UnmapPage(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, r.attrs),
                r -> h ->
                        new DmaEvent.MapResource(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, r.physAddr, r.attrs),
                r -> h -> new DmaEvent.UnmapResource(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, r.attrs),
                r -> h -> new DmaEvent.SyncSingle(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, r.attrs % 2 == 0),
                r -> h -> new DmaEvent.CoherentAlloc(h, r.device, r.dmaAddr, r.sizeBytes, r.attrs),
                r -> h -> new DmaEvent.CoherentFree(h, r.device, r.dmaAddr, r.sizeBytes, r.attrs),
                r -> h -> new DmaEvent.AllocPages(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, r.attrs),
                r -> h -> new DmaEvent.FreePages(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, r.attrs),
                r -> h -> new DmaEvent.AllocSgtError(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, r.attrs),
                r -> h -> new TraceEvent.SwiotlbBounced(
                        h, r.device, r.physAddr, r.dmaAddr, r.sizeBytes, r.attrs % 2 == 0),
                r -> h -> new IommuEvent.IommuMap(h, r.dmaAddr, r.physAddr, r.sizeBytes),
                r -> h -> new IommuEvent.IommuUnmap(h, r.dmaAddr, r.sizeBytes, r.physAddr),
                r -> h -> new IommuEvent.IommuFault(h, "vfio-pci", r.device, r.dmaAddr, (int) r.physAddr));
        return Combinators.combine(Arbitraries.of(makers), ranges()).as(Function::apply);
    }

    private static Arbitrary<Body> listBodies() {
        Arbitrary<Integer> cuts = Arbitraries.frequency(Tuple.of(3, 0), Tuple.of(1, 40));
        Arbitrary<Integer> kinds = Arbitraries.integers().between(0, 5);
        return Combinators.combine(kinds, ranges(), lists(), lists(), cuts)
                .as((kind, r, phys, dma, cut) -> h -> listEvent(kind, h, r, phys, dma, cut));
    }

    private static TraceEvent listEvent(int kind, TraceHeader h, Range r, long[] phys, long[] dma, int cut) {
        long[] lengths = LongStream.of(dma).map(address -> address >>> 32).toArray();
        return switch (kind) {
            case 0 -> new SgEvent.UnmapSg(h, r.device, r.direction, phys, r.attrs);
            case 1 -> new SgEvent.MapSgError(h, r.device, r.direction, phys, -cut, r.attrs);
            case 2 -> new SgEvent.SyncSg(h, r.device, r.direction, dma, lengths, cut > 0);
            case 3 -> new SgEvent.AllocSgt(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, phys, r.attrs);
            case 4 -> new SgEvent.FreeSgt(h, r.device, r.direction, r.dmaAddr, r.sizeBytes, phys);
            default ->
                new SgEvent.MapSg(
                        h,
                        r.device,
                        r.direction,
                        phys,
                        dma,
                        lengths,
                        phys.length + cut,
                        dma.length + cut,
                        cut > 0,
                        r.attrs);
        };
    }

    private static Arbitrary<Body> otherBodies() {
        Arbitrary<Body> groups = Combinators.combine(
                        devices(), Arbitraries.integers().between(0, 999), Arbitraries.of(GroupChange.class))
                .as((device, id, kind) -> h -> new IommuEvent.DeviceGroup(
                        h, device, kind == GroupChange.ATTACH ? IommuEvent.DeviceGroup.NO_GROUP : id, kind));
        Arbitrary<Body> marks = Arbitraries.strings()
                .withCharRange(' ', '~')
                .withChars("\t\u00e9")
                .ofMaxLength(40)
                .map(text -> h -> new TraceEvent.Mark(h, text));
        return Arbitraries.oneOf(groups, marks);
    }

    private static Arbitrary<String> devices() {
        return Arbitraries.oneOf(
                Arbitraries.of("0000:00:04.0", "ff3c0000.usb", "nvme nvme0", "a=b", "[x]"),
                Arbitraries.strings()
                        .withCharRange('a', 'z')
                        .withChars("0.:-_/")
                        .ofMinLength(1)
                        .ofMaxLength(20));
    }

    private static Arbitrary<Long> numbers() {
        return Arbitraries.oneOf(
                Arbitraries.longs(), Arbitraries.longs().between(0, 1L << 36), Arbitraries.of(0L, -1L, 4096L));
    }

    private static Arbitrary<Long> attrs() {
        return Arbitraries.oneOf(Arbitraries.just(0L), Arbitraries.longs().between(0, 0xfff), Arbitraries.longs());
    }

    private static Arbitrary<long[]> lists() {
        return numbers()
                .list()
                .ofMaxSize(9)
                .map(values -> values.stream().mapToLong(Long::longValue).toArray());
    }
}
