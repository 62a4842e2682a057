package io.pagewalk.dma.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.fake.World;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.jspecify.annotations.Nullable;

/** A pool against a stack of blocks: dma-core:POOL-2 to POOL-5. */
class DmaPoolProperties {
    private static final int PAGES = 8;

    @Provide
    static Arbitrary<Long> powers() {
        return Arbitraries.integers().between(-1, 12).map(log2 -> log2 < 0 ? 0L : 1L << log2);
    }

    @Property
    void aPoolIsAStackOfBlocksThatNeverOverlap(
            @ForAll @IntRange(min = 1, max = 4096) int size,
            @ForAll("powers") long align,
            @ForAll("powers") long boundary,
            @ForAll boolean debug,
            @ForAll @Size(max = 60) List<@IntRange(min = 0, max = 99) Integer> steps) {
        World world = World.make(
                World.builder().kernelConfig(KernelConfig.distribution().withSlubDebug(debug)));
        world.backend.allocateFrom(world.machine.pages());
        @Nullable DmaPool pool = DmaPool.create("p", world.dma, size, align, boundary);
        @Nullable PoolShape shape = PoolShape.of(size, align, boundary);
        assertThat(pool == null).isEqualTo(shape == null);
        if (pool != null && shape != null) {
            run(world, pool, shape, steps);
        }
    }

    private static void run(World world, DmaPool pool, PoolShape shape, List<Integer> steps) {
        Deque<Long> model = new ArrayDeque<>();
        List<PoolBlock> live = new ArrayList<>();
        int pages = 0;
        for (int step : steps) {
            if (step < 60 || live.isEmpty()) {
                if (model.isEmpty() && pages < PAGES) {
                    addPage(model, shape, 0x7001_0000L + 0x1000L * pages++);
                }
                @Nullable PoolBlock got = pool.alloc(step % 2 == 0 ? Gfp.ZERO : 0);
                assertThat(got == null ? null : (Long) got.dmaAddr()).isEqualTo(model.pollFirst());
                if (got != null) {
                    requireApart(got, live, shape);
                    world.machine.kernelMemory().fill(got.cpuAddr(), shape.blockBytes(), (byte) step);
                    live.add(got);
                }
            } else {
                PoolBlock gone = live.remove(step % live.size());
                pool.free(gone);
                model.addFirst(gone.dmaAddr());
            }
            assertThat(pool.activeBlocks()).isEqualTo(live.size());
            assertThat(pool.totalBlocks()).isEqualTo(live.size() + model.size());
            assertThat(pool.pageCount()).isEqualTo(pages);
        }
        live.forEach(pool::free);
        DmaPool.destroy(pool);
        assertThat(world.machine.log().entries()).isEmpty();
        assertThat(world.machine.pages().freeBytes()).isEqualTo(PAGES * 0x1000L);
    }

    private static void addPage(Deque<Long> model, PoolShape shape, long dmaAddr) {
        for (long at = shape.blockFrom(0); at >= 0; at = shape.blockFrom(at + shape.blockBytes())) {
            model.addLast(dmaAddr + at);
        }
    }

    private static void requireApart(PoolBlock block, List<PoolBlock> live, PoolShape shape) {
        long first = block.dmaAddr();
        long last = first + shape.blockBytes() - 1;
        assertThat((first & 0xfff) / shape.boundaryBytes()).isEqualTo((last & 0xfff) / shape.boundaryBytes());
        assertThat(block.cpuAddr() - first).isEqualTo(0xffff_8880_0000_0000L - 0x7000_0000L);
        for (PoolBlock other : live) {
            assertThat(Math.abs(other.dmaAddr() - first)).isGreaterThanOrEqualTo(shape.blockBytes());
        }
    }
}
