package io.pagewalk.backends.iommu.iova;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.iova.NaiveIovas.Range;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** The tree against a sorted list that follows the requirements word by word. */
class IovaTreeProperties {
    private static final long GRANULE = 4096;

    /** One operation. */
    interface Step {
        void run(IovaTree tree, NaiveIovas model, List<Long> taken);
    }

    @Property(tries = 300)
    void treeDoesWhatASortedListDoes(@ForAll("starts") long startPfn, @ForAll("programs") List<Step> program) {
        IovaTree tree = new IovaTree(GRANULE, startPfn);
        NaiveIovas model = new NaiveIovas(GRANULE, startPfn);
        List<Long> taken = new ArrayList<>();
        for (Step step : program) {
            step.run(tree, model, taken);
            assertSame(tree, model);
        }
        assertThat(tree.nodes().isConsistent()).isTrue();
    }

    private static void assertSame(IovaTree tree, NaiveIovas model) {
        int range = tree.first();
        for (Range expected : model.ranges) {
            assertThat(tree.lo(range)).isEqualTo(expected.lo);
            assertThat(tree.hi(range)).isEqualTo(expected.hi);
            range = range == IovaTree.ANCHOR ? range : tree.next(range);
        }
        assertThat(range).isEqualTo(IovaTree.ANCHOR);
        assertThat(tree.max32AllocSize()).isEqualTo(model.max32);
        assertThat(tree.lo(tree.cachedRange())).isEqualTo(model.cached.lo);
        assertThat(tree.lo(tree.cached32Range())).isEqualTo(model.cached32.lo);
    }

    /** Small spaces at the top of 32 bits, so that requests fail and retry, and all of it. */
    @Provide
    Arbitrary<Long> starts() {
        return Arbitraries.of(1L, 0xfff00L, 0xfffe0L, 0xfff8L);
    }

    @Provide
    Arbitrary<List<Step>> programs() {
        Arbitrary<Long> sizes = Arbitraries.of(1L, 1L, 2L, 3L, 4L, 5L, 8L, 16L, 33L, 0x40L, 0x101L);
        Arbitrary<Long> limits = Arbitraries.of(
                0xfffffL, 0xfffffL, 0xfffffL, 0x100000L, 0x100010L, 0xffff0L, 0xfffff_ffffL, 0L, 0xfff80L, 0xffL);
        Arbitrary<Step> alloc = Combinators.combine(sizes, limits, Arbitraries.of(true, true, true, false))
                .as(IovaTreeProperties::alloc);
        Arbitrary<Step> free = Arbitraries.integers().between(0, 1000).map(IovaTreeProperties::free);
        Arbitrary<Step> reserve = Combinators.combine(
                        Arbitraries.longs().between(0xfff80, 0x100020),
                        Arbitraries.longs().between(0, 0x60))
                .as(IovaTreeProperties::reserve);
        return Arbitraries.frequencyOf(
                        net.jqwik.api.Tuple.of(6, alloc),
                        net.jqwik.api.Tuple.of(4, free),
                        net.jqwik.api.Tuple.of(1, reserve))
                .list()
                .ofMinSize(1)
                .ofMaxSize(150);
    }

    private static Step alloc(long size, long limit, boolean aligned) {
        return (tree, model, taken) -> {
            int range = tree.alloc(size, limit, aligned);
            Range expected = model.alloc(size, limit, aligned);
            assertThat(range == IovaTree.NONE).isEqualTo(expected == null);
            if (expected != null) {
                assertThat(tree.lo(range)).isEqualTo(expected.lo);
                taken.add(expected.lo + size / 2);
            }
        };
    }

    private static Step free(int which) {
        return (tree, model, taken) -> {
            long pfn = taken.isEmpty() ? which : taken.remove(which % taken.size());
            tree.free(pfn);
            model.free(pfn);
        };
    }

    private static Step reserve(long lo, long pages) {
        return (tree, model, taken) -> {
            tree.reserve(lo, lo + pages);
            model.reserve(lo, lo + pages);
        };
    }
}
