package io.pagewalk.rdma.mm;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.rdma.mm.MmProgram.Kind;
import io.pagewalk.rdma.mm.MmProgram.Step;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Label;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

@Label("Programs of processes (rdma:MM-8 to MM-17)")
class MmProperties {

    @Provide
    Arbitrary<List<Step>> programs() {
        return programsOf(60);
    }

    @Provide
    Arbitrary<List<Step>> shortPrograms() {
        return programsOf(16);
    }

    private static Arbitrary<List<Step>> programsOf(int most) {
        Arbitrary<Kind> kinds = Arbitraries.frequency(
                Tuple.of(4, Kind.MAP),
                Tuple.of(2, Kind.UNMAP),
                Tuple.of(6, Kind.WRITE),
                Tuple.of(2, Kind.READ),
                Tuple.of(1, Kind.PROTECT),
                Tuple.of(1, Kind.UNPROTECT),
                Tuple.of(1, Kind.DROP),
                Tuple.of(3, Kind.FORK),
                Tuple.of(1, Kind.EXIT),
                Tuple.of(3, Kind.PIN_WRITE),
                Tuple.of(3, Kind.PIN_READ),
                Tuple.of(1, Kind.PIN_SHORT),
                Tuple.of(2, Kind.UNPIN),
                Tuple.of(2, Kind.DEVICE_WRITE));
        Arbitrary<Step> steps = Combinators.combine(
                        kinds,
                        Arbitraries.integers().between(0, 3),
                        Arbitraries.integers().between(0, MmProgram.PAGES - 1),
                        Arbitraries.integers().between(1, MmProgram.PAGES))
                .as(Step::new);
        // Most programs begin with memory to work on.
        return steps.list().ofMaxSize(most).map(list -> {
            List<Step> program = new java.util.ArrayList<>(list);
            program.add(0, new Step(Kind.MAP, 0, 1, MmProgram.PAGES - 2));
            return program;
        });
    }

    @Property(tries = 400)
    void referencesBytesAndPinsAreAsTheModelHasThem(@ForAll("programs") List<Step> program) {
        try (World world = new World()) {
            new MmProgram(world, false).run(program);
        }
    }

    @Property(tries = 30)
    void whicheverAllocationFailsNothingLeaksOrMixes(@ForAll("shortPrograms") List<Step> program) {
        long points;
        try (World world = new World()) {
            world.machine.failures().failNth(Long.MAX_VALUE);
            new MmProgram(world, false).run(program);
            points = world.machine.failures().passed();
        }
        for (long n = 1; n <= points; n++) {
            try (World world = new World()) {
                world.machine.failures().failNth(n);
                new MmProgram(world, true).run(program);
                assertThat(world.machine.failures().failedAt()).isNotNull();
            }
        }
    }
}
