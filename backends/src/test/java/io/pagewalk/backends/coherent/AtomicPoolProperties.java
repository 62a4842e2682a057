package io.pagewalk.backends.coherent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.statistics.Statistics;

/** An atomic pool hands out what a set of taken page numbers does (dma-core:ATM-4, ATM-5). */
class AtomicPoolProperties {
    private static final long PAGE = 0x1000;

    /** One call: takes pages, gives some back, or grows by a chunk. */
    record Step(int kind, int pages, int pick) {}

    @Property(tries = 300)
    void poolDoesWhatTheModelDoes(@ForAll("steps") @Size(min = 10, max = 150) List<Step> steps) {
        AtomicPool pool = new AtomicPool(0);
        Model model = new Model();
        grow(pool, model, 3);
        for (Step step : steps) {
            switch (step.kind()) {
                case 0 -> take(pool, model, step);
                case 1 -> give(pool, model, step);
                default -> grow(pool, model, step.pick() % 5);
            }
            assertThat(pool.sizeBytes()).isEqualTo(model.pages() * PAGE);
            assertThat(pool.freeBytes()).isEqualTo((model.pages() - model.taken()) * PAGE);
        }
        for (long physAddr : List.copyOf(model.live.keySet())) {
            assertThat(pool.free(physAddr, model.free(physAddr) * PAGE)).isTrue();
        }
        assertThat(pool.freeBytes()).isEqualTo(pool.sizeBytes());
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        return Combinators.combine(
                        Arbitraries.of(0, 0, 0, 0, 0, 1, 1, 1, 2),
                        Arbitraries.integers().between(1, 20),
                        Arbitraries.integers().between(0, 1 << 20))
                .as(Step::new)
                .list();
    }

    private static void take(AtomicPool pool, Model model, Step step) {
        long expected = model.alloc(step.pages());
        assertThat(pool.alloc(step.pages() * PAGE)).isEqualTo(expected);
        Statistics.label("takes").collect(expected == -1 ? "refused" : "found");
    }

    private static void give(AtomicPool pool, Model model, Step step) {
        if (!model.live.isEmpty()) {
            long physAddr = new ArrayList<>(model.live.keySet()).get(step.pick() % model.live.size());
            assertThat(pool.free(physAddr, model.free(physAddr) * PAGE)).isTrue();
        }
        assertThat(pool.free(0x7fff_0000, PAGE)).as("nobody's").isFalse();
    }

    private static void grow(AtomicPool pool, Model model, int order) {
        long physAddr = 0x10_0000L * (model.chunks.size() + 1);
        if (model.chunks.size() < 6) {
            pool.addChunk(physAddr, order);
            model.chunks.add(new boolean[1 << order]);
        }
    }

    /** Chunks as arrays of taken pages, the n-th at (n + 1) MiB. */
    private static final class Model {
        final List<boolean[]> chunks = new ArrayList<>();
        final Map<Long, Integer> live = new LinkedHashMap<>();

        long pages() {
            return chunks.stream().mapToLong(chunk -> chunk.length).sum();
        }

        long taken() {
            return live.values().stream().mapToLong(Integer::longValue).sum();
        }

        long alloc(int count) {
            int align = 1;
            while (align < count) {
                align *= 2;
            }
            for (int c = 0; c < chunks.size(); c++) {
                for (int at = 0; at + count <= chunks.get(c).length; at += align) {
                    if (isFree(chunks.get(c), at, count)) {
                        set(chunks.get(c), at, count, true);
                        long physAddr = 0x10_0000L * (c + 1) + at * PAGE;
                        live.put(physAddr, count);
                        return physAddr;
                    }
                }
            }
            return -1;
        }

        private static boolean isFree(boolean[] chunk, int at, int count) {
            for (int i = at; i < at + count; i++) {
                if (chunk[i]) {
                    return false;
                }
            }
            return true;
        }

        private static void set(boolean[] chunk, int at, int count, boolean taken) {
            for (int i = at; i < at + count; i++) {
                chunk[i] = taken;
            }
        }

        int free(long physAddr) {
            int count = Objects.requireNonNull(live.remove(physAddr));
            int chunk = (int) (physAddr / 0x10_0000) - 1;
            set(chunks.get(chunk), (int) (physAddr % 0x10_0000 / PAGE), count, false);
            return count;
        }
    }
}
