package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.fake.World;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/** Lists made of random pages beside models that know pages and bytes, or chunks and pointers: dma-core:SGA, SG-13. */
class SgAppendProperties {
    private static final long PAGE = 0x1000;
    private static final BigInteger TWO_64 = BigInteger.ONE.shiftLeft(64);

    private final Machine machine = World.make().machine;
    private final Scatterlists lists = machine.scatterlists();

    record Run(long firstPfn, int pages) {}

    record Call(List<Run> runs, int extraLeft, int missing, boolean continues) {

        /** The pages, of which the first run may continue where the call before ended. */
        long[] pages(long lastPfn) {
            List<Run> asked = new ArrayList<>(runs);
            if (continues) {
                asked.set(0, new Run(lastPfn + 1, runs.get(0).pages()));
            }
            return SgAppendProperties.pages(asked);
        }
    }

    @Provide
    Arbitrary<List<Run>> runs() {
        Arbitrary<Long> firsts = Arbitraries.oneOf(
                Arbitraries.longs().between(0x10, 0x30), Arbitraries.longs().between(0x10_0000, 0x10_0004));
        return Combinators.combine(firsts, Arbitraries.integers().between(1, 9))
                .as(Run::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(6);
    }

    @Provide
    Arbitrary<List<Call>> calls() {
        return Combinators.combine(
                        runs(),
                        Arbitraries.integers().between(0, 3),
                        Arbitraries.oneOf(
                                Arbitraries.just(0), Arbitraries.integers().between(0, 5000)),
                        Arbitraries.of(true, false))
                .as(Call::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(5);
    }

    private static long[] pages(List<Run> runs) {
        List<Long> pfns = new ArrayList<>();
        for (Run run : runs) {
            for (int i = 0; i < run.pages(); i++) {
                pfns.add(run.firstPfn() + i);
            }
        }
        return pfns.stream().mapToLong(Long::longValue).toArray();
    }

    /** Which bytes of which frame a list covers, in order, as {@code pfn:from-to}. */
    private static List<String> covered(SgTable sg) {
        List<String> bytes = new ArrayList<>();
        for (int i = 0; i < sg.origNents(); i++) {
            long at = sg.physAddr(i);
            long end = at + sg.lengthBytes(i);
            while (at < end) {
                long stop = Math.min(end, (at / PAGE + 1) * PAGE);
                bytes.add(at / PAGE + ":" + at % PAGE + "-" + (stop - at / PAGE * PAGE));
                at = stop;
            }
        }
        return bytes;
    }

    @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
    void aListCoversTheBytesOfItsPagesAndMergesAllItMay(
            @ForAll("runs") List<Run> runs,
            @ForAll("offsets") long offset,
            @ForAll("offsets") long cut,
            @ForAll("limits") long limit) {
        long[] pfns = pages(runs);
        long size = pfns.length * PAGE - offset - Math.min(cut, pfns.length == 1 ? PAGE - offset - 1 : PAGE - 1);
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < pfns.length; i++) {
            long from = i == 0 ? offset : 0;
            long to = Math.min(PAGE, size + offset - i * PAGE);
            expected.add(pfns[i] + ":" + from + "-" + to);
        }
        SgTable sg = new SgTable(1);
        assertThat(lists.allocTableFromPagesSegment(sg, pfns, pfns.length, offset, size, limit))
                .isZero();

        assertThat(covered(sg)).isEqualTo(expected);
        for (int i = 0; i < sg.origNents(); i++) {
            long pages = (sg.offset(i) + sg.lengthBytes(i) + PAGE - 1) / PAGE;
            assertThat(pages).isBetween(1L, limit / PAGE);
            if (i > 0 && sg.pageAddr(i) == sg.physAddr(i - 1) + sg.lengthBytes(i - 1)) {
                long before = (sg.offset(i - 1) + sg.lengthBytes(i - 1)) / PAGE;
                assertThat(before).isEqualTo(limit / PAGE);
            }
        }
        assertThat(sg.isEnd(sg.origNents() - 1)).isTrue();
        lists.freeTable(sg);
        assertThat(lists.liveChunks()).isEmpty();
    }

    @Provide
    Arbitrary<Long> offsets() {
        return Arbitraries.oneOf(Arbitraries.just(0L), Arbitraries.longs().between(0, PAGE - 1));
    }

    @Provide
    Arbitrary<Long> limits() {
        return Arbitraries.oneOf(Arbitraries.longs().between(PAGE, 6 * PAGE), Arbitraries.of(0xffff_ffffL, 0x1_0000L));
    }

    /** One entry of the model: its first frame, its offset is 0, and its length. */
    private static final class ModelEntry {
        final long pfn;
        long length;

        ModelEntry(long pfn, long length) {
            this.pfn = pfn;
            this.length = length;
        }

        @Override
        public String toString() {
            return pfn + ":" + length;
        }
    }

    /** The rules in the words of the specification, with sizes that wrap at 2^64. */
    private static boolean modelAppend(List<ModelEntry> model, long[] pfns, long size, long maxSegment) {
        long limit = maxSegment / PAGE * PAGE;
        int at = 0;
        if (!model.isEmpty()) {
            ModelEntry last = model.get(model.size() - 1);
            while (at < pfns.length
                    && pfns[at] == (last.pfn * PAGE + last.length) / PAGE
                    && (at == 0 || pfns[at] == pfns[at - 1] + 1)
                    && last.length + PAGE <= limit) {
                last.length += PAGE;
                at++;
            }
        }
        boolean merged = at > 0;
        BigInteger left = BigInteger.valueOf(size);
        while (at < pfns.length) {
            int pages = 1;
            while (at + pages < pfns.length && pages < limit / PAGE && pfns[at + pages] == pfns[at + pages - 1] + 1) {
                pages++;
            }
            BigInteger run = BigInteger.valueOf(pages * PAGE);
            model.add(new ModelEntry(pfns[at], left.min(run).longValueExact()));
            left = left.subtract(run).mod(TWO_64);
            at += pages;
        }
        return merged;
    }

    @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
    void appendsGiveTheEntriesOfTheModel(@ForAll("calls") List<Call> calls, @ForAll("limits") long limit) {
        SgAppendTable append = new SgAppendTable();
        List<ModelEntry> model = new ArrayList<>();
        boolean merged = false;
        long lastPfn = 0x77;
        int leftPages = calls.stream()
                .mapToInt(call -> pages(call.runs()).length + call.extraLeft())
                .sum();
        for (int i = 0; i < calls.size(); i++) {
            long[] pfns = calls.get(i).pages(lastPfn);
            lastPfn = pfns[pfns.length - 1];
            leftPages -= pfns.length;
            long size = Math.max(1, pfns.length * PAGE - calls.get(i).missing());
            int left = i == calls.size() - 1 ? 0 : leftPages;

            assertThat(lists.allocAppendTableFromPages(append, pfns, pfns.length, 0, size, limit, left))
                    .isZero();
            merged |= modelAppend(model, pfns, size, limit);
            assertThat(entries(append.table())).isEqualTo(model.toString());
            assertThat(append.table().nents()).isEqualTo(model.size());
            assertThat(append.prv()).isEqualTo(model.size() - 1);
        }
        Statistics.label("merged into the last entry")
                .collect(merged)
                .coverage(c -> c.check(true).percentage(p -> p > 15));
        assertThat(SgWalk.nents(append.table())).isEqualTo(model.size());
        lists.freeAppendTable(append);
        assertThat(lists.liveChunks()).isEmpty();
    }

    private static String entries(SgTable sg) {
        List<String> entries = new ArrayList<>();
        for (int i = 0; i < sg.origNents(); i++) {
            assertThat(sg.offset(i)).isZero();
            entries.add(sg.pageAddr(i) / PAGE + ":" + sg.lengthBytes(i));
        }
        return entries.toString();
    }

    record Step(int entries, int leftPages) {}

    @Provide
    Arbitrary<List<Step>> steps() {
        Arbitrary<Integer> counts = Arbitraries.oneOf(
                Arbitraries.integers().between(1, 4), Arbitraries.integers().between(1, 300));
        Arbitrary<Integer> lefts = Arbitraries.oneOf(
                Arbitraries.integers().between(1, 3), Arbitraries.integers().between(1, 400));
        return Combinators.combine(counts, lefts)
                .as(Step::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(5);
    }

    @Property(tries = 1000, edgeCases = EdgeCasesMode.NONE)
    void chunksAndLeaksAreThoseOfAListOfPointers(@ForAll("steps") List<Step> steps, @ForAll("failures") int failNth) {
        int before = lists.liveChunks().size();
        SgAppendTable append = new SgAppendTable();
        PointerList model = new PointerList(failNth);
        machine.failures().failNth("sg.chunk", failNth);
        for (Step step : steps) {
            long[] apart = new long[step.entries()];
            for (int i = 0; i < apart.length; i++) {
                apart[i] = 7 + 2L * i;
            }
            int result = lists.allocAppendTableFromPages(
                    append, apart, apart.length, 0, apart.length * PAGE, PAGE, step.leftPages());
            assertThat(result).isEqualTo(model.append(step.entries(), step.leftPages()) ? 0 : -Errno.ENOMEM);
            assertThat(append.totalNents()).isEqualTo(model.total);
            assertThat(append.table().nents()).isEqualTo(model.used);
            assertThat(SgWalk.nents(append.table())).isEqualTo(model.walk());
        }
        machine.failures().disarm();

        boolean frees = model.free();
        if (frees) {
            lists.freeAppendTable(append);
        } else {
            assertThatThrownBy(() -> lists.freeAppendTable(append)).isInstanceOf(KernelBugException.class);
        }
        List<SgChunk> left =
                lists.liveChunks().subList(before, lists.liveChunks().size());
        assertThat(left.stream().map(SgChunk::entries).toList()).isEqualTo(model.liveSizes());
        Statistics.label("freed")
                .collect(frees ? left.isEmpty() ? "all" : "leaks" : "runs over")
                .coverage(c -> {
                    c.check("all").percentage(p -> p > 5);
                    c.check("leaks").percentage(p -> p > 5);
                    c.check("runs over").percentage(p -> p > 5);
                });
    }

    @Provide
    Arbitrary<Integer> failures() {
        return Arbitraries.oneOf(
                Arbitraries.just(Integer.MAX_VALUE), Arbitraries.integers().between(1, 5));
    }
}
