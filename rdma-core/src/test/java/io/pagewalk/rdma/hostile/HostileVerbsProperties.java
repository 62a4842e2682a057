package io.pagewalk.rdma.hostile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.pagewalk.rdma.VerbsWorld;
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
 * Random verbs in random order with random handles, keys and lengths: null, negative, unaligned, wrapping and huge, on
 * what is gone, and with objects of another device or machine. An errno or a documented exception, nothing changed by
 * what is refused, and everything given back at the end.
 */
class HostileVerbsProperties {
    private static final Duration LONGEST = Duration.ofSeconds(60);

    @Property(tries = 250, edgeCases = EdgeCasesMode.NONE)
    void everyVerbAnswersAsDocumented(@ForAll VerbsWorld.Kind kind, @ForAll("calls") List<List<Integer>> calls) {
        HostileVerbs verbs = new HostileVerbs(kind);
        assertTimeoutPreemptively(LONGEST, () -> calls.forEach(verbs::play));
        verbs.end();
        Statistics.label("kind").collect(kind);
        Statistics.label("refused").collect(verbs.refused() > 0);
        Statistics.label("answered").collect(verbs.answered() > 0);
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void countersReturnWhateverRunsOut(
            @ForAll VerbsWorld.Kind kind, @ForAll("nth") int nth, @ForAll("calls") List<List<Integer>> calls) {
        HostileVerbs verbs = new HostileVerbs(kind);
        verbs.failNth(nth);
        assertTimeoutPreemptively(LONGEST, () -> calls.forEach(verbs::play));
        Statistics.label("failed").collect(verbs.disarm());
        verbs.end();
    }

    @Provide
    Arbitrary<Integer> nth() {
        return Arbitraries.integers().between(1, 30).withDistribution(RandomDistribution.uniform());
    }

    @Example
    void allPublicMembersOfTheVerbsAreUnderFire() {
        assertThat(VerbsMembers.count()).isGreaterThan(400);
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
                .ofMaxSize(80)
                .withSizeDistribution(RandomDistribution.uniform());
    }
}
