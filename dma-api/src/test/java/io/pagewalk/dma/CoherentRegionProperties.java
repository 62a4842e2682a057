package io.pagewalk.dma;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.fake.World;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.List;
import java.util.Objects;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import org.jspecify.annotations.Nullable;

/** A region against a bitmap of booleans: dma-core:COH-3, COH-4. */
class CoherentRegionProperties {
    private static final long BASE = 0x1_0000;
    private static final long DEVICE_BASE = 0x40_0000;

    /** One call: a free at a page, or an allocation. */
    record Step(boolean frees, int page, long sizeBytes) {}

    /** What the specification says, bit by bit. */
    private static final class Bitmap {
        private final boolean[] taken;

        Bitmap(int pages) {
            taken = new boolean[pages];
        }

        int alloc(long sizeBytes) {
            long block = blockOf(sizeBytes);
            for (long first = 0; first + block <= taken.length; first += block) {
                if (isFree((int) first, (int) block)) {
                    fill((int) first, block, true);
                    return (int) first;
                }
            }
            return -1;
        }

        private boolean isFree(int first, int count) {
            for (int i = first; i < first + count; i++) {
                if (taken[i]) {
                    return false;
                }
            }
            return true;
        }

        void fill(int first, long count, boolean value) {
            for (int i = first; i < taken.length && i < first + count; i++) {
                taken[i] = value;
            }
        }

        static long blockOf(long sizeBytes) {
            long block = 1;
            while (block * 0x1000 < sizeBytes) {
                block *= 2;
            }
            return block;
        }

        int free() {
            int count = 0;
            for (boolean bit : taken) {
                count += bit ? 0 : 1;
            }
            return count;
        }
    }

    @Provide
    static Arbitrary<List<Step>> steps() {
        Arbitrary<Long> sizes = Arbitraries.oneOf(
                Arbitraries.longs().between(1, 0x9000),
                Arbitraries.of(1L, 0xfffL, 0x1000L, 0x1001L, 0x2000L, 0x2001L, 0x4000L, 0x8000L));
        return Combinators.combine(
                        Arbitraries.of(true, false, false),
                        Arbitraries.integers().between(0, 7),
                        sizes)
                .as(Step::new)
                .list()
                .ofMaxSize(40);
    }

    @Property
    void aRegionIsABitmap(@ForAll @IntRange(min = 1, max = 8) int pages, @ForAll("steps") List<Step> steps) {
        World world = World.make();
        assertThat(world.device.declareCoherentMemory(BASE, DEVICE_BASE, pages * 0x1000L))
                .isZero();
        CoherentRegion region = Objects.requireNonNull(world.device.coherentRegion());
        Bitmap model = new Bitmap(pages);
        for (Step step : steps) {
            if (step.frees) {
                boolean inside = region.release(region.cpuBase() + step.page * 0x1000L, step.sizeBytes);
                assertThat(inside).isEqualTo(step.page < pages);
                if (inside) {
                    model.fill(step.page, Bitmap.blockOf(step.sizeBytes), false);
                }
            } else {
                @Nullable CoherentPages got = region.alloc(world.device, step.sizeBytes);
                int expected = model.alloc(step.sizeBytes);
                assertThat(got == null ? -1 : got.pagePhysAddr(0) - BASE)
                        .isEqualTo(expected < 0 ? -1 : expected * 0x1000L);
                if (got != null) {
                    assertThat(got.dmaAddr() - DEVICE_BASE).isEqualTo(expected * 0x1000L);
                    assertThat(got.cpuAddr() - region.cpuBase()).isEqualTo(expected * 0x1000L);
                }
            }
            assertThat(region.freePages()).isEqualTo(model.free());
        }
    }
}
