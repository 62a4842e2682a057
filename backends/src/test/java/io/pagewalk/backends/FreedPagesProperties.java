package io.pagewalk.backends;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.FreedPagesTest.Board;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Random programs of maps, unmaps and frees: a free is told of for each live mapping of the page, and no other is. */
class FreedPagesProperties {
    private static final int PAGE = 0x1000;
    private static final int PAGES = 8;

    /** What a step does: with which pages, from which offset in each, over how many bytes. */
    record Step(Kind kind, int page, int count, int offset, int sizeBytes) {}

    enum Kind {
        MAP_PAGE,
        MAP_SG,
        UNMAP,
        FREE
    }

    /** A live mapping and the indexes of the pages that it leads to. */
    private record Live(long dmaAddr, int sizeBytes, SgTable list, List<Integer> pages) {}

    @Provide
    Arbitrary<Step> steps() {
        return Combinators.combine(
                        Arbitraries.of(Kind.class),
                        Arbitraries.integers().between(0, PAGES - 1),
                        Arbitraries.integers().between(1, 4),
                        Arbitraries.integers().between(0, PAGE - 1),
                        Arbitraries.integers().between(1, 2 * PAGE))
                .as(Step::new);
    }

    @Provide
    Arbitrary<List<Step>> programs() {
        return steps().list().ofMinSize(2).ofMaxSize(40);
    }

    @Provide
    Arbitrary<String> backends() {
        return Arbitraries.of(FreedPagesTest.BACKENDS);
    }

    @Property
    void aFreeIsToldOfForEachLiveMappingOfThePage(
            @ForAll("backends") String backend, @ForAll("programs") List<Step> program) {
        try (Board board = new Board(backend)) {
            Run run = new Run(board);
            program.forEach(run::play);
        }
    }

    /** The machine and the naive model beside it. */
    private static final class Run {
        private final Board board;
        private final long block;
        private final List<Live> live = new ArrayList<>();
        private final TreeSet<Integer> freed = new TreeSet<>();

        Run(Board board) {
            this.board = board;
            block = board.pages.allocPages(Zone.NORMAL, 3);
            board.pages.splitPages(block, 3);
        }

        private long addressOf(int page) {
            return block + (long) page * PAGE;
        }

        void play(Step step) {
            switch (step.kind) {
                case MAP_PAGE -> mapPage(step);
                case MAP_SG -> mapSg(step);
                case UNMAP -> unmap(step);
                default -> free(step.page);
            }
            assertThat(board.events).isEmpty();
        }

        private void mapPage(Step step) {
            int end = Math.min(step.page * PAGE + step.offset + step.sizeBytes, PAGES * PAGE);
            int size = end - step.page * PAGE - step.offset;
            long dmaAddr = board.dma.mapPage(addressOf(step.page) + step.offset, size, DmaDirection.BIDIRECTIONAL, 0);
            List<Integer> pages = new ArrayList<>();
            for (int page = step.page; page * PAGE < end; page++) {
                pages.add(page);
            }
            live.add(new Live(dmaAddr, size, new SgTable(1), pages));
        }

        /** Every other page from one on. */
        private void mapSg(Step step) {
            SgTable list = new SgTable(step.count);
            List<Integer> pages = new ArrayList<>();
            for (int i = 0; i < step.count; i++) {
                int page = (step.page + 3 * i) % PAGES;
                boolean whole = step.sizeBytes > PAGE;
                list.add(addressOf(page) + (whole ? 0 : step.offset), whole ? PAGE : PAGE - step.offset);
                pages.add(page);
            }
            assertThat(board.dma.mapSg(list, step.count, DmaDirection.BIDIRECTIONAL, 0))
                    .isPositive();
            live.add(new Live(0, 0, list, pages));
        }

        private void unmap(Step step) {
            if (live.isEmpty()) {
                return;
            }
            Live gone = live.remove(step.offset % live.size());
            if (gone.sizeBytes != 0) {
                board.dma.unmapPage(gone.dmaAddr, gone.sizeBytes, DmaDirection.BIDIRECTIONAL, 0);
            } else {
                board.dma.unmapSg(gone.list, gone.list.origNents(), DmaDirection.BIDIRECTIONAL, 0);
            }
        }

        /** A page that is mapped after it was freed is still a page; one is freed once. */
        private void free(int page) {
            if (!freed.add(page)) {
                return;
            }
            board.pages.freePages(addressOf(page), 0);
            long expected = live.stream().filter(m -> m.pages.contains(page)).count();
            assertThat(board.events).hasSize((int) expected);
            assertThat(board.events).allSatisfy(e -> assertThat(e.physAddr()).isEqualTo(addressOf(page)));
            board.events.clear();
        }
    }
}
