package io.pagewalk.hostile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.statistics.Statistics;

/**
 * Null, negative, zero, unaligned, overflowing, huge, in any order of calls on every backend: a documented result or a
 * documented exception, and never another one. Arguments that are invalid in Java change nothing.
 */
class HostileInputProperties {
    private static final Duration LONGEST = Duration.ofSeconds(60);

    @Property(edgeCases = EdgeCasesMode.NONE)
    void everyCallAnswersAsDocumented(@ForAll("backends") String backend, @ForAll("calls") List<HostileCall> calls) {
        HostileWorld world = new HostileWorld(backend);
        assertTimeoutPreemptively(LONGEST, () -> calls.forEach(world::play));
        world.close();
        collect("refused", world.refused());
        collect("answered", world.answered());
    }

    private static void collect(String label, int count) {
        Statistics.label(label).collect(count > 0).coverage(c -> c.check(true).percentage(p -> p > 50));
    }

    @Example
    void noCallKeepsANullToFailOnItLater() {
        try (HostileWorld world = new HostileWorld("iommu-lazy")) {
            assertThat(world.keptNulls()).isEmpty();
        }
    }

    @Example
    void theWholeDriverFacingApiIsUnderFire() {
        assertThat(HostileWorld.MEMBERS.all()).hasSizeGreaterThan(300);
    }

    @Provide
    Arbitrary<String> backends() {
        return Arbitraries.of("direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt");
    }

    @Provide
    Arbitrary<List<HostileCall>> calls() {
        Arbitrary<Integer> choice =
                Arbitraries.integers().between(0, 255).withDistribution(RandomDistribution.uniform());
        return Combinators.combine(choice, choice, choice, choice.list().ofSize(8))
                .as(HostileCall::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(60)
                .withSizeDistribution(RandomDistribution.uniform());
    }
}
