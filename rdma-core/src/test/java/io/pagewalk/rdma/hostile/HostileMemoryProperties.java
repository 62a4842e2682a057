package io.pagewalk.rdma.hostile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.time.Duration;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.statistics.Statistics;

/**
 * Null, negative, unaligned, wrapping and huge, in any order of calls, on what is gone, and with objects of another
 * machine: an errno or a documented exception, nothing changed by what is refused, and everything given back at the
 * end.
 */
class HostileMemoryProperties {
    private static final Duration LONGEST = Duration.ofSeconds(60);

    @Property(tries = 400, edgeCases = EdgeCasesMode.NONE)
    void everyCallAnswersAsDocumented(@ForAll("backends") String backend, @ForAll("calls") List<List<Integer>> calls) {
        HostileMemory memory = new HostileMemory(backend);
        assertTimeoutPreemptively(LONGEST, () -> calls.forEach(memory::play));
        memory.end();
        Statistics.label("refused").collect(memory.refused() > 0);
        Statistics.label("answered").collect(memory.answered() > 0);
    }

    @Example
    void theWholeOfUserMemoryIsUnderFire() {
        assertThat(HostileMemory.memberCount()).isGreaterThan(200);
    }

    @Provide
    Arbitrary<String> backends() {
        return Arbitraries.of("direct", "swiotlb", "iommu-strict", "iommu-lazy");
    }

    @Provide
    Arbitrary<List<List<Integer>>> calls() {
        return Arbitraries.integers()
                .between(0, 1023)
                .withDistribution(RandomDistribution.uniform())
                .list()
                .ofSize(10)
                .list()
                .ofMinSize(1)
                .ofMaxSize(60)
                .withSizeDistribution(RandomDistribution.uniform());
    }
}
