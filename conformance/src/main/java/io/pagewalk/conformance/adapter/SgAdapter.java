package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Informative;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.Scatterlists;
import io.pagewalk.dma.scatterlist.SgAppendTable;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/** {@code sg}: scatterlists made from arrays of pages, at once and by appending. */
final class SgAdapter implements Adapter {
    private static final int MANY_ENTRIES = 1000;

    private final Machine machine;
    private final Scatterlists lists;

    private SgAdapter(Question boot) {
        machine = RecordedMachine.withoutDevice(boot);
        lists = machine.scatterlists();
    }

    static Family family() {
        return Family.named("sg")
                .answered(Family.BOOT, bootFormat())
                .answered("from_pages_segment", fromPagesFormat())
                .answered("append", appendFormat())
                .by(SgAdapter::new);
    }

    private static LineFormat bootFormat() {
        return BootFormat.plain()
                .exact("page_size", "sg_max_single_alloc")
                .informative(Informative.C_LAYOUT, "sizeof_sg")
                .build();
    }

    private static LineFormat fromPagesFormat() {
        return pages(LineFormat.builder().identity("fam", "id", "fn"))
                .exact("ret", "nents", "orig_nents", "segs")
                .build();
    }

    private static LineFormat appendFormat() {
        LineFormat call = pages(LineFormat.builder())
                .input("left")
                .exact("ret", "nents", "orig_nents", "total_nents", "segs")
                .build();
        return LineFormat.builder()
                .identity("fam", "id", "fn")
                .objects("calls", call)
                .build();
    }

    private static LineFormat.Builder pages(LineFormat.Builder builder) {
        return builder.input("runs", "n_pages", "offset", "size", "max_seg");
    }

    @Override
    public Answers boot() {
        SgTable table = new SgTable(1);
        lists.allocTable(table, MANY_ENTRIES);
        int firstChunk = table.chunks().get(0).entries();
        lists.freeTable(table);
        return new Answers().unsigned("page_size", Addresses.PAGE_SIZE).unsigned("sg_max_single_alloc", firstChunk);
    }

    @Override
    public Answers answer(String kind, Question question) {
        return switch (kind) {
            case "from_pages_segment" -> fromPages(question);
            case "append" -> append(question);
            default -> throw new BadVectorException("unknown fn " + kind);
        };
    }

    private Answers fromPages(Question question) {
        SgTable table = new SgTable(1);
        int ret = lists.allocTableFromPagesSegment(
                table,
                pfns(question),
                question.integer("n_pages"),
                question.number("offset"),
                question.number("size"),
                question.number("max_seg"));
        Answers answers = new Answers().signed("ret", ret);
        if (ret != 0) {
            return answers;
        }
        described(answers, table);
        lists.freeTable(table);
        return answers;
    }

    private Answers append(Question question) {
        SgAppendTable table = new SgAppendTable();
        List<Answers> calls = new ArrayList<>();
        for (Question call : question.objects("calls")) {
            int ret = lists.allocAppendTableFromPages(
                    table,
                    pfns(call),
                    call.integer("n_pages"),
                    call.number("offset"),
                    call.number("size"),
                    call.number("max_seg"),
                    call.integer("left"));
            calls.add(described(new Answers().signed("ret", ret), table.table())
                    .unsigned("total_nents", table.totalNents()));
        }
        return new Answers().objects("calls", calls);
    }

    /** Expands runs of first page and count. */
    private static long[] pfns(Question question) {
        return question.rows("runs", 2).stream()
                .flatMapToLong(run -> LongStream.range(run[0], run[0] + run[1]))
                .toArray();
    }

    private static Answers described(Answers answers, SgTable table) {
        List<long[]> segments = new ArrayList<>();
        for (int i = 0; i < table.origNents(); i++) {
            segments.add(
                    new long[] {table.pageAddr(i) >>> Addresses.PAGE_SHIFT, table.offset(i), table.lengthBytes(i)});
        }
        return answers.unsigned("nents", table.nents())
                .unsigned("orig_nents", table.origNents())
                .rows("segs", segments);
    }

    @Override
    public void close() {
        machine.close();
    }
}
