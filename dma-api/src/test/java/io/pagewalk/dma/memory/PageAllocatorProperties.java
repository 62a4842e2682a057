package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Random allocations beside a model that is one set of free frames. */
class PageAllocatorProperties {

    private static final long MIB = 1L << 20;
    private static final long GIB = 1L << 30;

    private static final RamMap RAM = RamMap.sizedWithHole(5 * GIB);

    enum Kind {
        ALLOC,
        FREE,
        RESERVE,
        CONTIGUOUS
    }

    record Op(Kind kind, Zone zone, int order, int choice) {}

    record Block(long physAddr, int order) {}

    /** Ranges at odd places around the ends of the zones; a few MiB in all. */
    @Provide
    Arbitrary<List<PhysRange>> managed() {
        Arbitrary<Long> pages = Arbitraries.longs().between(0, 1000);
        return Combinators.combine(pages, pages, pages)
                .as((below, across, above) -> List.of(
                        PhysRange.ofSize(below * 4096, (above + 1) * 4096),
                        PhysRange.ofSize(16 * MIB - across * 4096, (across + below + 1) * 4096),
                        PhysRange.ofSize(4 * GIB + above * 4096, (across + 1) * 4096)));
    }

    @Provide
    Arbitrary<List<Op>> operations() {
        Arbitrary<Kind> kinds =
                Arbitraries.of(Kind.ALLOC, Kind.ALLOC, Kind.ALLOC, Kind.FREE, Kind.FREE, Kind.RESERVE, Kind.CONTIGUOUS);
        Arbitrary<Integer> orders = Arbitraries.oneOf(
                Arbitraries.integers().between(0, 3), Arbitraries.integers().between(0, 11));
        return Combinators.combine(
                        kinds,
                        Arbitraries.of(Zone.class),
                        orders,
                        Arbitraries.integers().between(0, 4000))
                .as(Op::new)
                .list()
                .ofMaxSize(80);
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void blocksAreFreeFramesNaturallyAlignedAndNeverShared(
            @ForAll("managed") List<PhysRange> managed, @ForAll("operations") List<Op> operations) {
        Model model = new Model(managed);
        operations.forEach(model::run);
        model.freeAll();
    }

    @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
    void onceEverythingIsFreeAgainTheBlocksAreThoseOfTheStart(
            @ForAll("managed") List<PhysRange> managed, @ForAll("operations") List<Op> operations) {
        Model model = new Model(managed);
        String start = model.allocator.toString();
        for (Op op : operations) {
            if (op.kind() == Kind.ALLOC || op.kind() == Kind.FREE) {
                model.run(op);
            }
        }
        model.freeAll();
        assertThat(model.allocator).hasToString(start);
    }

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    void theSameCallsGiveTheSamePages(
            @ForAll("managed") List<PhysRange> managed, @ForAll("operations") List<Op> operations) {
        Model one = new Model(managed);
        Model other = new Model(managed);
        operations.forEach(one::run);
        operations.forEach(other::run);
        assertThat(one.held).isEqualTo(other.held);
        assertThat(one.allocator).hasToString(other.allocator.toString());
    }

    private static final class Model {
        final PageAllocator allocator;
        final List<Block> held = new ArrayList<>();
        private final Set<Long> free = new HashSet<>();

        Model(List<PhysRange> managed) {
            allocator = PageAllocator.create(PhysicalMemory.create(RAM), new PageFrames(), managed);
            for (PhysRange range : managed) {
                addFrames(range.first(), range.sizeBytes());
            }
            checkFree();
        }

        private void addFrames(long physAddr, long sizeBytes) {
            for (long at = physAddr; at < physAddr + sizeBytes; at += 4096) {
                assertThat(free.add(at)).isTrue();
            }
        }

        private void removeFrames(long physAddr, long sizeBytes) {
            for (long at = physAddr; at < physAddr + sizeBytes; at += 4096) {
                assertThat(free.remove(at)).as("%x is free", at).isTrue();
            }
        }

        private boolean allFree(long physAddr, long sizeBytes) {
            for (long at = physAddr; at < physAddr + sizeBytes; at += 4096) {
                if (!free.contains(at)) {
                    return false;
                }
            }
            return true;
        }

        private void checkFree() {
            assertThat(allocator.freeBytes()).isEqualTo(free.size() * 4096L);
        }

        void run(Op op) {
            switch (op.kind()) {
                case ALLOC -> alloc(op);
                case FREE -> free(op);
                case RESERVE -> reserve(op);
                case CONTIGUOUS -> contiguous(op);
            }
            checkFree();
        }

        private void alloc(Op op) {
            long sizeBytes = 4096L << op.order();
            long physAddr = allocator.allocPages(op.zone(), op.order());
            if (physAddr == PageAllocator.NO_PAGE) {
                assertThat(someBlockIsFree(op)).isFalse();
                return;
            }
            assertThat(Addresses.isAligned(physAddr, sizeBytes)).isTrue();
            assertThat(Zone.of(physAddr)).isLessThanOrEqualTo(op.zone());
            removeFrames(physAddr, sizeBytes);
            held.add(new Block(physAddr, op.order()));
        }

        private boolean someBlockIsFree(Op op) {
            long sizeBytes = 4096L << op.order();
            return op.order() <= PageAllocator.MAX_ORDER
                    && free.stream()
                            .anyMatch(at -> Addresses.isAligned(at, sizeBytes)
                                    && Zone.of(at).compareTo(op.zone()) <= 0
                                    && allFree(at, sizeBytes));
        }

        private void free(Op op) {
            if (held.isEmpty()) {
                return;
            }
            Block block = held.remove(op.choice() % held.size());
            allocator.freePages(block.physAddr(), block.order());
            addFrames(block.physAddr(), 4096L << block.order());
            assertThatIllegalStateException().isThrownBy(() -> allocator.freePages(block.physAddr(), block.order()));
        }

        private void reserve(Op op) {
            long physAddr = 12 * MIB + op.choice() * 4096L;
            long sizeBytes = (op.order() * 37L + 1) * 4096;
            if (!allFree(physAddr, sizeBytes)) {
                assertThatIllegalStateException().isThrownBy(() -> allocator.reserve(physAddr, sizeBytes));
                return;
            }
            allocator.reserve(physAddr, sizeBytes);
            removeFrames(physAddr, sizeBytes);
        }

        private void contiguous(Op op) {
            long sizeBytes = (op.choice() + 1) * 4096L;
            long align = 4096L << op.order();
            long maxAddr = op.zone().lastAddress();
            long physAddr = allocator.allocContiguous(sizeBytes, align, maxAddr);
            assertThat(physAddr).isEqualTo(highestFit(sizeBytes, align, maxAddr));
            if (physAddr != PageAllocator.NO_PAGE) {
                removeFrames(physAddr, sizeBytes);
            }
        }

        private long highestFit(long sizeBytes, long align, long maxAddr) {
            return free.stream()
                    .filter(at -> Addresses.isAligned(at, align)
                            && Addresses.lessOrEqual(at + sizeBytes - 1, maxAddr)
                            && allFree(at, sizeBytes))
                    .max(Long::compareUnsigned)
                    .orElse(PageAllocator.NO_PAGE);
        }

        void freeAll() {
            for (Block block : held) {
                allocator.freePages(block.physAddr(), block.order());
                addFrames(block.physAddr(), 4096L << block.order());
            }
            checkFree();
            assertThat(allocator.allocatedPages()).isZero();
        }
    }
}
