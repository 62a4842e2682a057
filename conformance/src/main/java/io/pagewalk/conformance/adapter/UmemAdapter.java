package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;

/** {@code umem}: page sizes and blocks of registered memory. */
final class UmemAdapter implements Adapter {
    private final Machine machine;

    private UmemAdapter(Question boot) {
        machine = RecordedMachine.withoutDevice(boot);
    }

    static Family family() {
        return Family.named("umem")
                .answered(Family.BOOT, BootFormat.plain().exact("page_size").build())
                .unanswered("find_best_pgsz", best("iova"))
                .unanswered("find_best_pgoff", best("pgoff_bitmask"))
                .unanswered(
                        "rdma_for_each_block",
                        line("pgsz", "segs").exact("blocks", "iterated").build())
                .unanswered(
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
        throw new BadVectorException("unknown fn " + kind);
    }

    @Override
    public void close() {
        machine.close();
    }
}
