package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.fake.World;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a Linux 6.12 kernel answered: dma-core:SGA-1 to SGA-12, SG-10. */
class RecordedListsTest {
    private final Scatterlists lists = World.make().machine.scatterlists();

    static Stream<String> lines() throws IOException {
        try (InputStream in = RecordedListsTest.class.getResourceAsStream("sg_alloc_append.jsonl")) {
            assertThat(in).isNotNull();
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList().stream();
        }
    }

    @ParameterizedTest
    @MethodSource("lines")
    void theKernelsListsAreReproduced(String line) {
        Map<String, Object> recorded = JsonLine.parse(line);
        if ("append".equals(recorded.get("fn"))) {
            appendsReproduce(recorded);
        } else {
            oneCallReproduces(recorded);
        }
        assertThat(lists.liveChunks()).isEmpty();
    }

    private void oneCallReproduces(Map<String, Object> call) {
        long[] pfns = pfns(call);
        SgTable table = new SgTable(1).add(0x7000, 7);
        int result = lists.allocTableFromPagesSegment(
                table, pfns, pfns.length, number(call, "offset"), number(call, "size"), number(call, "max_seg"));

        assertThat((long) result).isEqualTo(number(call, "ret"));
        if (result == 0) {
            assertList(table, call);
            assertThat(SgWalk.nents(table)).isEqualTo(table.origNents());
            lists.freeTable(table);
        } else {
            assertThat(table).hasToString("SgTable[origNents=1, nents=0, 0x7000+0x7]");
        }
    }

    private void appendsReproduce(Map<String, Object> recorded) {
        SgAppendTable append = new SgAppendTable();
        for (Object element : list(recorded, "calls")) {
            @SuppressWarnings("unchecked")
            Map<String, Object> call = (Map<String, Object>) element;
            long[] pfns = pfns(call);
            int result = lists.allocAppendTableFromPages(
                    append,
                    pfns,
                    pfns.length,
                    number(call, "offset"),
                    number(call, "size"),
                    number(call, "max_seg"),
                    (int) number(call, "left"));

            assertThat((long) result).isEqualTo(number(call, "ret"));
            assertThat((long) append.totalNents()).isEqualTo(number(call, "total_nents"));
            assertList(append.table(), call);
        }
        lists.freeAppendTable(append);
    }

    private static void assertList(SgTable table, Map<String, Object> call) {
        assertThat((long) table.nents()).isEqualTo(number(call, "nents"));
        assertThat((long) table.origNents()).isEqualTo(number(call, "orig_nents"));
        List<Object> segments = new ArrayList<>();
        for (int i = 0; i < table.origNents(); i++) {
            segments.add(List.of(table.pageAddr(i) >>> 12, table.offset(i), table.lengthBytes(i)));
        }
        assertThat(segments).isEqualTo(call.get("segs"));
    }

    private static long number(Map<String, Object> call, String name) {
        return (Long) Objects.requireNonNull(call.get(name), name);
    }

    private static List<?> list(Map<String, Object> call, String name) {
        return (List<?>) Objects.requireNonNull(call.get(name), name);
    }

    private static long[] pfns(Map<String, Object> call) {
        long[] pfns = new long[(int) number(call, "n_pages")];
        int at = 0;
        for (Object run : list(call, "runs")) {
            long first = (Long) ((List<?>) run).get(0);
            long count = (Long) ((List<?>) run).get(1);
            for (long i = 0; i < count; i++) {
                pfns[at++] = first + i;
            }
        }
        assertThat(at).isEqualTo(pfns.length);
        return pfns;
    }
}
