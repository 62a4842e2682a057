package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.statistics.Statistics;

/**
 * Whatever the shape of the caches: what an invalidation covers is gone, what it does not cover stays, and what is held
 * is what was filled last. iommu:INV-1 and INV-3.
 */
class InvalidationProperties {
    /** One page or table entry: domain, number of its 4 KiB page, level. */
    private record Held(int domain, long page, int level) {
        long pages() {
            return 1L << (9 * (level - 1));
        }

        long firstPage() {
            return page & -pages();
        }

        Held aligned() {
            return new Held(domain, firstPage(), level);
        }

        /** Whether it overlaps 2^order pages around another page. */
        boolean overlaps(long other, int order) {
            long first = order < 52 ? other & -(1L << order) : 0;
            long last = order < 52 ? first + (1L << order) - 1 : Long.MAX_VALUE;
            return firstPage() <= last && first <= firstPage() + pages() - 1;
        }
    }

    @Provide
    Arbitrary<VtdFeatures.CacheShape> shapes() {
        return Arbitraries.integers()
                .between(0, 5)
                .flatMap(entriesLog2 -> Arbitraries.integers()
                        .between(0, entriesLog2)
                        .map(waysLog2 -> new VtdFeatures.CacheShape(1 << entriesLog2, 1 << waysLog2)));
    }

    @Provide
    Arbitrary<List<Held>> fills() {
        Arbitrary<Long> pages = Arbitraries.oneOf(
                Arbitraries.longs().between(0, 40),
                Arbitraries.longs().between(508, 516),
                Arbitraries.longs().between(0x3fffe, 0x40002),
                Arbitraries.longs().between((1L << 45) - 3, (1L << 45) - 1),
                Arbitraries.longs().between(0, (1L << 45) - 1));
        return Combinators.combine(
                        Arbitraries.of(0, 2, 3, 0xffff),
                        pages,
                        Arbitraries.integers().between(1, 3))
                .as(Held::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(60);
    }

    private static long translation(Held held, int serial) {
        return (long) serial << 30 | (long) held.level() << 2 | 3;
    }

    /** What is held of the fills, by asking for each. */
    private static Map<Held, Long> heldBy(Iotlb iotlb, List<Held> fills) {
        Map<Held, Long> held = new HashMap<>();
        for (Held fill : fills) {
            long found = iotlb.lookup(fill.domain(), fill.page() << 12);
            if (found != Iotlb.MISS && SecondStageWalk.level(found) == fill.level()) {
                held.put(fill.aligned(), found);
            }
        }
        return held;
    }

    @Property(tries = 400)
    void theIotlbForgetsWhatIsCoveredAndNothingElse(
            @ForAll("shapes") VtdFeatures.CacheShape shape,
            @ForAll("fills") List<Held> fills,
            @ForAll @IntRange(min = 0, max = 63) int order,
            @ForAll @IntRange(min = 0, max = 59) int which) {
        Iotlb iotlb = new Iotlb(shape);
        Map<Held, Long> latest = new HashMap<>();
        for (int i = 0; i < fills.size(); i++) {
            Held fill = fills.get(i);
            iotlb.fill(fill.domain(), fill.page() << 12, translation(fill, i + 1));
            latest.put(fill.aligned(), translation(fill, i + 1));
        }
        Held last = fills.get(fills.size() - 1);
        Map<Held, Long> before = heldBy(iotlb, fills);
        assertThat(latest).as("no translation is older than the last fill").containsAllEntriesOf(before);
        Held named = fills.get(which % fills.size());

        iotlb.invalidatePages(named.domain(), named.page() << 12, order);

        Map<Held, Long> expected = new HashMap<>(before);
        expected.keySet().removeIf(held -> held.domain() == named.domain() && held.overlaps(named.page(), order));
        // A page hidden behind a smaller one that went shows again, if it is not covered itself.
        Map<Held, Long> after = heldBy(iotlb, fills);
        assertThat(after).containsAllEntriesOf(expected);
        assertThat(after.keySet())
                .noneMatch(held -> held.domain() == named.domain() && held.overlaps(named.page(), order));
        assertThat(iotlb.held()).isLessThanOrEqualTo(shape.entries());
        Statistics.label("last fill is held").collect(before.containsKey(last.aligned()));
        iotlb.invalidateDomain(named.domain());
        assertThat(heldBy(iotlb, fills).keySet()).noneMatch(held -> held.domain() == named.domain());
        iotlb.invalidateAll();
        assertThat(iotlb.held()).isZero();
    }

    @Property(tries = 300)
    void thePagingCachesForgetWhatIsCoveredAndNothingElse(
            @ForAll("shapes") VtdFeatures.CacheShape shape,
            @ForAll("fills") List<Held> fills,
            @ForAll @IntRange(min = 0, max = 63) int order,
            @ForAll @IntRange(min = 0, max = 59) int which) {
        PagingCache cache = new PagingCache(shape);
        List<Held> entries = new ArrayList<>();
        for (Held fill : fills) {
            Held entry = new Held(fill.domain(), fill.page(), fill.level() + 1).aligned();
            cache.fill(entry.domain(), entry.page() << 12, entry.level(), 0x5003);
            entries.add(entry);
        }
        List<Held> before = entries.stream().filter(held -> isHeld(cache, held)).toList();
        Held named = fills.get(which % fills.size());

        cache.invalidatePages(named.domain(), named.page() << 12, order);

        for (Held held : before) {
            boolean covered = held.domain() == named.domain() && held.overlaps(named.page(), order);
            assertThat(isHeld(cache, held)).as("%s", held).isEqualTo(!covered);
        }
        cache.invalidateDomain(named.domain());
        assertThat(entries).noneMatch(held -> held.domain() == named.domain() && isHeld(cache, held));
        cache.invalidateAll();
        assertThat(cache.held()).isZero();
    }

    private static boolean isHeld(PagingCache cache, Held held) {
        return cache.lookup(held.domain(), held.page() << 12, held.level()) != PagingCache.MISS;
    }
}
