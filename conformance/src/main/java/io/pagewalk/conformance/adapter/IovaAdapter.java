package io.pagewalk.conformance.adapter;

import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.backends.iommu.iova.IovaTree;
import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Informative;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Operation;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** {@code iova}: scripts of calls of the IOVA allocator, each on a fresh domain. */
final class IovaAdapter implements Adapter {
    private static final int CPU = 0;
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long[] NOTHING_FOUND = {-1, -1};
    private static final long ANCHOR_HI = -2;

    private final Machine machine;

    private IovaAdapter(Question boot) {
        machine = RecordedMachine.withoutDevice(boot);
    }

    static Family family() {
        return Family.named("iova")
                .answered(Family.BOOT, BootFormat.plain().input("cpus").build())
                .answered("script", scriptFormat())
                .by(IovaAdapter::new);
    }

    private static LineFormat scriptFormat() {
        return LineFormat.builder()
                .identity("fam", "id")
                .informative(Informative.LABEL, "name")
                .input("granule", "start_pfn", "rcache")
                .operations("ops", shapes())
                .exact("tree", "max32", "dma32_pfn", "cached", "cached32")
                .build();
    }

    /** Inputs and results of each operation. */
    private static Map<String, int[]> shapes() {
        return Map.of(
                "A", new int[] {3, 1},
                "G", new int[] {3, 1},
                "f", new int[] {1, 0},
                "F", new int[] {2, 0},
                "R", new int[] {2, 2},
                "Q", new int[] {1, 2},
                "S", new int[] {0, 1},
                "W", new int[] {1, 0});
    }

    /** There is no device to say anything of. */
    @Override
    public Answers boot() {
        return new Answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        IovaDomain domain = new IovaDomain(
                machine, question.number("granule"), question.number("start_pfn"), question.flag("rcache"));
        List<long[]> results = new ArrayList<>();
        for (Operation operation : question.operations("ops")) {
            results.add(run(domain, operation.letter(), operation.inputs()));
        }
        Answers answers = state(domain.tree()).signedRows("ops", results);
        domain.close();
        return answers;
    }

    private long[] run(IovaDomain domain, String letter, long[] in) {
        IovaTree tree = domain.tree();
        return switch (letter) {
            case "A" -> new long[] {domain.alloc(in[0], in[1], in[2] != 0)};
            case "G" -> new long[] {domain.allocFast(CPU, in[0], in[1], in[2] != 0)};
            case "f" -> {
                domain.free(in[0]);
                yield new long[0];
            }
            case "F" -> {
                domain.freeFast(CPU, in[0], in[1]);
                yield new long[0];
            }
            case "R" -> {
                domain.reserve(in[0], in[1]);
                yield found(tree, in[1]);
            }
            case "Q" -> found(tree, in[0]);
            case "S" -> new long[] {tree.max32AllocSize()};
            case "W" -> {
                machine.clock().advance(in[0] * NANOS_PER_MILLI);
                yield new long[0];
            }
            default -> throw new BadVectorException("unknown operation " + letter);
        };
    }

    private static long[] found(IovaTree tree, long pfn) {
        int range = tree.find(pfn);
        if (range == IovaTree.NONE) {
            return NOTHING_FOUND;
        }
        return new long[] {tree.lo(range), range == IovaTree.ANCHOR ? ANCHOR_HI : tree.hi(range)};
    }

    private static Answers state(IovaTree tree) {
        List<long[]> ranges = new ArrayList<>();
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            ranges.add(new long[] {tree.lo(range), tree.hi(range)});
        }
        Answers answers = new Answers()
                .rows("tree", ranges)
                .unsigned("max32", tree.max32AllocSize())
                .unsigned("dma32_pfn", tree.dma32Pfn());
        cached(answers, "cached", tree, tree.cachedRange());
        cached(answers, "cached32", tree, tree.cached32Range());
        return answers;
    }

    private static void cached(Answers answers, String name, IovaTree tree, int range) {
        if (range == IovaTree.ANCHOR) {
            answers.text(name, "anchor");
        } else {
            answers.unsigned(name, tree.lo(range));
        }
    }

    @Override
    public void close() {
        machine.close();
    }
}
