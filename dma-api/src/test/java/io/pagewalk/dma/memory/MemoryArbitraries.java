package io.pagewalk.dma.memory;

import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Tuple;

/** Small worlds of memory: a few ranges of RAM with holes of odd sizes. */
final class MemoryArbitraries {

    private MemoryArbitraries() {}

    /** One to five ranges of at most 700 bytes from a base on; some of them touch, others leave a hole. */
    static Arbitrary<RamMap> ramMaps(long base) {
        Arbitrary<Integer> gaps = Arbitraries.frequencyOf(
                Tuple.of(1, Arbitraries.just(0)),
                Tuple.of(3, Arbitraries.integers().between(1, 150)));
        Arbitrary<Integer> sizes = Arbitraries.integers().between(1, 700);
        return Combinators.combine(gaps, sizes)
                .as((gap, size) -> new int[] {gap, size})
                .list()
                .ofMinSize(1)
                .ofMaxSize(5)
                .map(pieces -> ramMap(base, pieces));
    }

    private static RamMap ramMap(long base, List<int[]> pieces) {
        List<PhysRange> ranges = new ArrayList<>();
        long next = base;
        for (int[] piece : pieces) {
            ranges.add(PhysRange.ofSize(next + piece[0], piece[1]));
            next += piece[0] + piece[1];
        }
        return RamMap.of(ranges);
    }
}
