package io.pagewalk.model;

import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.kit.Buffer;
import io.pagewalk.kit.Part;
import io.pagewalk.kit.Segments;
import io.pagewalk.model.ModelRun.Event;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.state.Action;
import net.jqwik.api.state.ActionChain;
import net.jqwik.api.state.Transformer;
import net.jqwik.api.statistics.Statistics;

/**
 * Programs without misuse on every backend, with a model beside them that predicts every byte and every slot, whoever
 * forgets to sync: data, isolation, conservation and rollback (dma-core:SWM-1 to SWR-5, DIR-10 to DIR-32, MSK-8).
 */
class DataModelProperties {
    private static final int PAGE = 4096;
    private static final int SLOT = 0x800;
    private static final int SET = 0x4_0000;

    @Property(edgeCases = EdgeCasesMode.NONE)
    void aModelPredictsEveryByteAndEverySlotAfterEveryStep(@ForAll("programs") ActionChain<ModelRun> program) {
        ModelRun run = program.withInvariant("machine and model agree", ModelRun::requireAgreement)
                .run();
        run.finish();
        collect(run);
    }

    /** Each kind of event is met by at least one program in two hundred. */
    private static void collect(ModelRun run) {
        for (Event event : Event.values()) {
            Statistics.label(event.name())
                    .collect(run.saw(event))
                    .coverage(c -> c.check(true).percentage(p -> p > 0.5));
        }
    }

    @Provide
    Arbitrary<ActionChain<ModelRun>> programs() {
        return Shape.all()
                .flatMap(shape -> ActionChain.startWith(() -> new ModelRun(shape))
                        .withAction(6, mapPage())
                        .withAction(3, mapSg())
                        .withAction(4, unmap())
                        .withAction(3, cpuWrites())
                        .withAction(3, deviceWrites())
                        .withAction(3, syncForCpu())
                        .withAction(3, syncForDevice())
                        .withAction(2, setMaskAgain())
                        .withAction(1, advance())
                        .withMaxTransformations(30));
    }

    private static Action.Independent<ModelRun> mapPage() {
        return () -> Combinators.combine(narrow(), cpus(), buffers(), directions(), attrs())
                .as((narrow, cpu, buffer, direction, attrs) -> Transformer.mutate(
                        "map %s %s on CPU %d%s%s"
                                .formatted(
                                        buffer,
                                        direction,
                                        cpu,
                                        narrow ? ", narrow" : "",
                                        attrs == 0 ? "" : ", SKIP_CPU_SYNC"),
                        run -> run.mapPage(narrow, cpu, buffer, direction, attrs)));
    }

    private static Action.Independent<ModelRun> mapSg() {
        return () -> Combinators.combine(
                        narrow(), cpus(), buffers().list().ofMinSize(1).ofMaxSize(5), directions())
                .as((narrow, cpu, buffers, direction) -> Transformer.mutate(
                        "map list %s %s on CPU %d%s".formatted(buffers, direction, cpu, narrow ? ", narrow" : ""),
                        run -> run.mapSg(narrow, cpu, new Segments(buffers), direction)));
    }

    private static Action.Independent<ModelRun> unmap() {
        return () -> Combinators.combine(which(), cpus(), attrs())
                .as((which, cpu, attrs) -> Transformer.mutate(
                        "unmap " + which + (attrs == 0 ? "" : ", SKIP_CPU_SYNC"), run -> run.unmap(which, cpu, attrs)));
    }

    private static Action.Independent<ModelRun> cpuWrites() {
        return () -> buffers().map(buffer -> Transformer.mutate("CPU writes " + buffer, run -> run.cpuWrites(buffer)));
    }

    private static Action.Independent<ModelRun> deviceWrites() {
        return () -> Combinators.combine(which(), parts())
                .as((which, part) -> Transformer.mutate(
                        "device writes " + part + " of " + which, run -> run.deviceWrites(which, part)));
    }

    private static Action.Independent<ModelRun> syncForCpu() {
        return () -> Combinators.combine(which(), parts())
                .as((which, part) -> Transformer.mutate(
                        "sync for CPU " + part + " of " + which, run -> run.syncForCpu(which, part)));
    }

    private static Action.Independent<ModelRun> syncForDevice() {
        return () -> Combinators.combine(which(), parts())
                .as((which, part) -> Transformer.mutate(
                        "sync for device " + part + " of " + which, run -> run.syncForDevice(which, part)));
    }

    private static Action.Independent<ModelRun> setMaskAgain() {
        return () -> narrow().map(narrow ->
                Transformer.mutate("set_mask again" + (narrow ? ", narrow" : ""), run -> run.setMaskAgain(narrow)));
    }

    private static Action.Independent<ModelRun> advance() {
        return () -> Arbitraries.of(1_000L, 10_000_000L)
                .map(nanos -> Transformer.mutate("advance " + nanos, run -> run.advance(nanos)));
    }

    private static Arbitrary<Boolean> narrow() {
        return Arbitraries.of(false, true);
    }

    private static Arbitrary<Integer> cpus() {
        return Arbitraries.of(0, 1);
    }

    private static Arbitrary<Integer> which() {
        return Arbitraries.integers().between(0, 15);
    }

    private static Arbitrary<Integer> attrs() {
        return Arbitraries.frequency(Tuple.of(5, DmaAttrs.NONE), Tuple.of(1, DmaAttrs.SKIP_CPU_SYNC));
    }

    private static Arbitrary<DmaDirection> directions() {
        return Arbitraries.of(DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE, DmaDirection.BIDIRECTIONAL);
    }

    private static Arbitrary<Part> parts() {
        Arbitrary<Integer> shares = Arbitraries.frequencyOf(
                Tuple.of(1, Arbitraries.of(0, Part.WHOLE)),
                Tuple.of(3, Arbitraries.integers().between(0, Part.WHOLE)));
        return Combinators.combine(shares, shares).as(Part::new);
    }

    /** In the windows: at their edges, at 4 GiB, at edges of pages and slots and one off, around the largest bounce. */
    static Arbitrary<Buffer> buffers() {
        Arbitrary<Integer> sizes = Arbitraries.frequencyOf(
                Tuple.of(6, Arbitraries.integers().between(1, 3 * PAGE)),
                Tuple.of(3, Arbitraries.of(1, SLOT - 1, SLOT, SLOT + 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE)),
                Tuple.of(1, Arbitraries.of(SET - SLOT, SET - 1, SET, SET + 1, SET + SLOT)));
        Arbitrary<Integer> places = Arbitraries.frequencyOf(
                Tuple.of(2, Arbitraries.integers().between(0, 0xffff)),
                Tuple.of(2, Arbitraries.integers().between(0, 31).map(k -> k * SLOT)),
                Tuple.of(1, Arbitraries.of(1, 0x7fff, 0x8000, 0xffff)));
        return Combinators.combine(Arbitraries.of(ModelMemory.WINDOWS), places, sizes)
                .as((window, place, size) ->
                        inside(size < window.sizeBytes() ? window : ModelMemory.WINDOWS.get(2), place, size));
    }

    private static Buffer inside(PhysRange window, int place, int size) {
        long first = Math.min(window.first() + place, window.last() + 1 - size);
        return new Buffer(first, size);
    }
}
