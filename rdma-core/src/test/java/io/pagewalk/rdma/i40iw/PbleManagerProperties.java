package io.pagewalk.rdma.i40iw;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.statistics.Statistics;
import org.jspecify.annotations.Nullable;

/**
 * PBLEs beside a model that keeps a set of free granules for each chunk and looks at every one of them (rdma:PBLE-3,
 * PBLE-6 to PBLE-8, PBLE-10).
 */
class PbleManagerProperties {
    private static final int SEGMENT_PBLES = 262_144;
    private static final int PBLES = SEGMENT_PBLES + 5 * 512 + 100;

    /** The first chunk is what is left of its segment: three pages. */
    private static final long BASE = (2L << 20) - 3 * 0x1000;

    /** A get of so many at some levels, or a free of one of those that are held. */
    record Step(boolean get, int count, int levels, int which) {}

    @Provide
    Arbitrary<List<Step>> programs() {
        Arbitrary<Integer> counts = Arbitraries.oneOf(
                Arbitraries.integers().between(1, 40),
                Arbitraries.of(511, 512, 513, 1024, 1025),
                Arbitraries.integers().between(100, 2500),
                Arbitraries.of(SEGMENT_PBLES / 2, SEGMENT_PBLES - 512, SEGMENT_PBLES, SEGMENT_PBLES + 1));
        Arbitrary<Integer> levels =
                Arbitraries.of(PbleManager.ANY_LEVEL, PbleManager.LEVEL_1, PbleManager.LEVEL_1_OR_2);
        return Combinators.combine(
                        Arbitraries.of(true, true, false),
                        counts,
                        levels,
                        Arbitraries.integers().between(0, 1000))
                .as(Step::new)
                .list()
                .ofMinSize(1)
                .ofMaxSize(40);
    }

    /** Free granules of a chunk, by number from the base on. */
    private static final class Model {
        final List<TreeSet<Integer>> chunks = new ArrayList<>();
        int nextGranule;
        int granulesLeft = PBLES / 512 * 64;

        boolean grow() {
            int inSegment = nextGranule == 0 ? 3 * 64 : SEGMENT_PBLES / 8;
            int granules = Math.min(inSegment, granulesLeft);
            if (granules == 0) {
                return false;
            }
            TreeSet<Integer> chunk = new TreeSet<>();
            for (int granule = nextGranule; granule < nextGranule + granules; granule++) {
                chunk.add(granule);
            }
            chunks.add(0, chunk);
            nextGranule += granules;
            granulesLeft -= granules;
            return true;
        }

        /** The first granule of a run, newest chunk first, lowest first; -1 if there is none. */
        int run(int pbles) {
            int granules = (pbles + 7) / 8;
            for (TreeSet<Integer> chunk : chunks) {
                int start = -1;
                int length = 0;
                for (int granule : List.copyOf(chunk)) {
                    boolean goesOn = length > 0 && granule == start + length;
                    start = goesOn ? start : granule;
                    length = goesOn ? length + 1 : 1;
                    if (length == granules) {
                        for (int taken = start; taken < start + granules; taken++) {
                            chunk.remove(taken);
                        }
                        return start;
                    }
                }
            }
            return -1;
        }

        void giveBack(int firstGranule, int pbles) {
            int chunk = 0;
            while (!owns(chunk, firstGranule)) {
                chunk++;
            }
            for (int granule = firstGranule; granule < firstGranule + (pbles + 7) / 8; granule++) {
                assertThat(chunks.get(chunk).add(granule)).isTrue();
            }
        }

        /** The oldest chunk has the first 192 granules, the next a segment, and the last the rest. */
        private boolean owns(int chunk, int granule) {
            int age = chunks.size() - 1 - chunk;
            int begin = age == 0 ? 0 : 192 + (age - 1) * (SEGMENT_PBLES / 8);
            int end = 192 + age * (SEGMENT_PBLES / 8);
            return granule >= begin && granule < end;
        }

        long free() {
            return chunks.stream().mapToLong(TreeSet::size).sum() * 8;
        }

        /** Runs as (first granule, PBLEs) pairs: one, or a root and leaves; null when there is no room. */
        @Nullable List<int[]> tryLevels(int count, int levels) {
            int single = run(count);
            if (single >= 0) {
                return List.of(new int[] {single, count});
            }
            if (levels == PbleManager.LEVEL_1 || count <= 512) {
                return null;
            }
            List<int[]> runs = new ArrayList<>();
            for (int wanted : wantedRuns(count)) {
                int first = run(wanted);
                if (first < 0) {
                    runs.forEach(r -> giveBack(r[0], r[1]));
                    return null;
                }
                runs.add(new int[] {first, wanted});
            }
            return runs;
        }

        private static List<Integer> wantedRuns(int count) {
            List<Integer> wanted = new ArrayList<>();
            wanted.add((count + 511) / 512);
            for (int left = count; left > 0; left -= 512) {
                wanted.add(Math.min(512, left));
            }
            return wanted;
        }

        @Nullable List<int[]> get(int count, int levels) {
            List<int[]> runs = tryLevels(count, levels);
            int growths = levels == PbleManager.ANY_LEVEL ? count / SEGMENT_PBLES + 1 : 1;
            while (runs == null && growths-- > 0 && grow()) {
                runs = tryLevels(count, levels);
            }
            return runs;
        }
    }

    @Property(tries = 60)
    void listsLieWhereTheModelHasThem(@ForAll("programs") List<Step> program) {
        try (Machine machine = machine()) {
            PbleManager pbles = pbles(machine);
            Model model = new Model();
            model.grow();
            List<PbleAllocation> live = new ArrayList<>();
            List<List<int[]>> liveRuns = new ArrayList<>();
            for (Step step : program) {
                if (step.get) {
                    PbleAllocation list = new PbleAllocation();
                    int error = pbles.get(step.count, step.levels, list);
                    List<int[]> runs = model.get(step.count, step.levels);
                    assertThat(error).isEqualTo(runs == null ? -Errno.ENOMEM : 0);
                    Statistics.collect(runs == null ? "no room" : "level " + list.level());
                    if (runs != null) {
                        requireSame(list, runs);
                        live.add(list);
                        liveRuns.add(runs);
                    }
                } else if (!live.isEmpty()) {
                    int which = step.which % live.size();
                    pbles.free(live.remove(which));
                    liveRuns.remove(which).forEach(r -> model.giveBack(r[0], r[1]));
                }
                assertThat(pbles.freePbles()).isEqualTo(model.free());
            }
            live.forEach(pbles::free);
            assertThat(pbles.freePbles()).isEqualTo(pbles.totalPbles());
            assertThat(pbles.allocatedPbles()).isEqualTo(pbles.freedPbles());
        }
    }

    private static void requireSame(PbleAllocation list, List<int[]> runs) {
        assertThat(list.index()).isEqualTo(runs.get(0)[0] * 8);
        assertThat(list.leaves()).isEqualTo(runs.size() - 1);
        for (int leaf = 0; leaf < list.leaves(); leaf++) {
            assertThat(list.leafIndex(leaf)).isEqualTo(runs.get(leaf + 1)[0] * 8);
        }
    }

    @Property(tries = 60)
    void whicheverAllocationFailsNothingIsLost(
            @ForAll("programs") List<Step> program, @ForAll @IntRange(min = 1, max = 40) int nth) {
        try (Machine machine = machine()) {
            PbleManager pbles = pbles(machine);
            List<PbleAllocation> live = new ArrayList<>();
            machine.failures().failNth(nth);
            for (Step step : program) {
                PbleAllocation list = new PbleAllocation();
                if (step.get && pbles.get(step.count, step.levels, list) == 0) {
                    live.add(list);
                } else if (!step.get && !live.isEmpty()) {
                    pbles.free(live.remove(step.which % live.size()));
                }
                assertThat(list.level() == 0).isEqualTo(!live.contains(list));
            }
            live.forEach(pbles::free);
            assertThat(pbles.freePbles()).isEqualTo(pbles.totalPbles());
            assertThat(pbles.allocationsMade()).isEqualTo(pbles.allocationsFreed());
        }
    }

    private static Machine machine() {
        return Machine.builder()
                .ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .backend("direct")
                .build();
    }

    private static PbleManager pbles(Machine machine) {
        HmcMemory memory = new HmcMemory(
                machine.addDevice(DeviceConfig.named("nic").withMask(-1L)).dma());
        PbleManager pbles = new PbleManager(memory, BASE, PBLES, Generation.IRDMA, machine.failures());
        assertThat(pbles.open()).isZero();
        return pbles;
    }
}
