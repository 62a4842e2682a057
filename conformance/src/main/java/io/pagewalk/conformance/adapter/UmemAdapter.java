package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.SgToPages;
import io.pagewalk.rdma.umem.BlockIterator;
import io.pagewalk.rdma.umem.UmemRegion;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/** {@code umem}: page sizes and blocks of registered memory, and lists cut into the pages of a memory region. */
final class UmemAdapter implements Adapter {
    /** How many blocks of a region a line lists; the others are only counted. */
    private static final int REGION_BLOCKS = 160;

    /** How many blocks of a list a line lists. */
    private static final int LIST_BLOCKS = 300;

    private static final int NO_OFFSET = -1;

    private final Machine machine;

    private UmemAdapter(Question boot) {
        machine = RecordedMachine.withoutDevice(boot);
    }

    static Family family() {
        return Family.named("umem")
                .answered(Family.BOOT, BootFormat.plain().exact("page_size").build())
                .answered("find_best_pgsz", best("iova"))
                .answered("find_best_pgoff", best("pgoff_bitmask"))
                .answered(
                        "rdma_for_each_block",
                        line("pgsz", "segs").exact("blocks", "iterated").build())
                .answered(
                        "ib_sg_to_pages",
                        line("page_size", "max_pages", "sg_nents", "segs", "sg_offset_in")
                                .exact("ret", "mr_iova", "mr_length", "sg_offset_out", "pages")
                                .build())
                .by(UmemAdapter::new);
    }

    private static LineFormat best(String input) {
        return line("address", "length", "pgsz_bitmap", "segs", input)
                .exact("pgsz", "umem_iova", "num_blocks", "num_pages", "dma_offset", "blocks", "iterated")
                .build();
    }

    private static LineFormat.Builder line(String... inputs) {
        return LineFormat.builder().identity("fam", "id", "fn").input(inputs);
    }

    @Override
    public Answers boot() {
        return new Answers().unsigned("page_size", Addresses.PAGE_SIZE);
    }

    @Override
    public Answers answer(String kind, Question question) {
        return switch (kind) {
            case "find_best_pgsz" ->
                best(question, r -> r.findBestPgsz(question.number("pgsz_bitmap"), question.number("iova")));
            case "find_best_pgoff" ->
                best(question, r -> r.findBestPgoff(question.number("pgsz_bitmap"), question.number("pgoff_bitmask")));
            case "rdma_for_each_block" -> forEachBlock(question);
            case "ib_sg_to_pages" -> sgToPages(question);
            default -> throw new BadVectorException("unknown fn " + kind);
        };
    }

    private static Answers best(Question question, ToLongFunction<UmemRegion> search) {
        UmemRegion region = new UmemRegion(segments(question), question.number("address"), question.number("length"));
        long pageSize = search.applyAsLong(region);
        Answers answers = new Answers().unsigned("pgsz", pageSize).unsigned("umem_iova", region.iova());
        if (pageSize == 0) {
            return answers;
        }
        answers.unsigned("num_blocks", region.numDmaBlocks(pageSize))
                .unsigned("num_pages", region.numPages())
                .unsigned("dma_offset", region.dmaOffset(pageSize));
        return blocks(answers, new BlockIterator().start(region, pageSize), REGION_BLOCKS);
    }

    private static Answers forEachBlock(Question question) {
        SgTable sg = segments(question);
        return blocks(new Answers(), new BlockIterator().start(sg, sg.nents(), question.number("pgsz")), LIST_BLOCKS);
    }

    private static Answers blocks(Answers answers, BlockIterator blocks, int listed) {
        List<Long> first = new ArrayList<>();
        long iterated = 0;
        while (blocks.next()) {
            if (iterated++ < listed) {
                first.add(blocks.dmaAddr());
            }
        }
        return answers.list("blocks", array(first)).unsigned("iterated", iterated);
    }

    private static Answers sgToPages(Question question) {
        boolean hasOffset = question.has("sg_offset_in");
        int maxPages = question.integer("max_pages");
        List<Long> pages = new ArrayList<>();
        SgToPages call = new SgToPages();
        int ret = call.map(
                segments(question),
                question.integer("sg_nents"),
                hasOffset ? question.number("sg_offset_in") : 0,
                question.number("page_size"),
                page -> pages.size() < maxPages && pages.add(page) ? 0 : -Errno.ENOMEM);
        return new Answers()
                .signed("ret", ret)
                .unsigned("mr_iova", call.iova())
                .unsigned("mr_length", call.lengthBytes())
                .signed("sg_offset_out", hasOffset ? call.sgOffset() : NO_OFFSET)
                .list("pages", array(pages));
    }

    private static SgTable segments(Question question) {
        List<long[]> rows = question.rows("segs", 2);
        SgTable sg = new SgTable(Math.max(1, rows.size()));
        for (long[] row : rows) {
            sg.add(0, row[1]);
            sg.setDma(sg.entries() - 1, row[0], row[1]);
        }
        sg.mapped(rows.size());
        return sg;
    }

    private static long[] array(List<Long> numbers) {
        return numbers.stream().mapToLong(Long::longValue).toArray();
    }

    @Override
    public void close() {
        machine.close();
    }
}
