package io.pagewalk.rdma.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.rdma.VerbsWorld;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.GenerationMode;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.statistics.Statistics;

/** Keys of regions and windows, whichever program made, changed and ended them. */
class KeysProperties {
    private static final int ALLOCATE = 1;
    private static final int PUT = 3;
    private static final int PUT_NEXT = 4;
    private static final int INVALIDATE = 5;

    record Step(int op, int which, int number) {}

    @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
    @Label(
            "rdma:RXE-5, RXE-11, RXE-34, RXE-40 to RXE-51, STAG-4, IRD-5: a stale key never resolves, and a live one leads to its region alone")
    void aStaleKeyNeverResolves(@ForAll("kinds") VerbsWorld.Kind kind, @ForAll("programs") List<Step> steps) {
        try (KeyProgram program = new KeyProgram(kind)) {
            steps.forEach(s -> program.play(s.op(), s.which(), s.number()));
            program.end();
            Statistics.label("kind").collect(kind);
            Statistics.label("resolved").collect(program.resolved() > 0);
            Statistics.label("stale").collect(program.stale() > 0);
        }
    }

    @Provide
    Arbitrary<VerbsWorld.Kind> kinds() {
        return Arbitraries.of(
                VerbsWorld.Kind.RXE,
                VerbsWorld.Kind.RXE_5,
                VerbsWorld.Kind.I40IW_LAZY,
                VerbsWorld.Kind.IRDMA_STRICT,
                VerbsWorld.Kind.IRDMA_SWIOTLB);
    }

    @Provide
    Arbitrary<List<Step>> programs() {
        return Combinators.combine(upTo(12), upTo(7), upTo(511))
                .as(Step::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(30)
                .withSizeDistribution(RandomDistribution.uniform());
    }

    private static Arbitrary<Integer> upTo(int last) {
        return Arbitraries.integers().between(0, last).withDistribution(RandomDistribution.uniform());
    }

    @Property(generation = GenerationMode.EXHAUSTIVE)
    @Label(
            "rdma:RXE-11, STAG-3: after 256 updates the first key is back and leads to the live region; none of the others does meanwhile")
    void keysComeBackAfter256Updates(@ForAll("kinds") VerbsWorld.Kind kind) {
        try (KeyProgram program = new KeyProgram(kind)) {
            program.play(ALLOCATE, 0, 0);
            program.play(PUT, 0, 0);
            int first = program.key();
            for (int i = 1; i <= 256; i++) {
                program.step(INVALIDATE, 0, 0);
                program.step(PUT_NEXT, 0, 0);
                if (i % 64 == 1 || i == 256) {
                    program.verify();
                }
                assertThat(program.key()).isEqualTo(first & ~0xff | first + i & 0xff);
            }
            assertThat(program.key()).isEqualTo(first);
            assertThat(program.keysSeen()).isEqualTo(256);
            assertThat(program.resolves(first)).isTrue();
            program.end();
        }
    }
}
