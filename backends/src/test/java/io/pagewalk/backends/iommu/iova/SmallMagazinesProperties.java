package io.pagewalk.backends.iommu.iova;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.iova.NaiveIovas.Range;
import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.statistics.Statistics;

/** With magazines of one to three entries every swap, depot and trim happens within a few steps. */
class SmallMagazinesProperties {
    private record Held(long pfn, long size) {}

    @Property(tries = 300)
    void allocatorDoesWhatTheRulesSay(
            @ForAll long seed,
            @ForAll @IntRange(min = 1, max = 8) int cpus,
            @ForAll @IntRange(min = 1, max = 3) int entries) {
        Machine machine = Machine.builder().cpus(cpus).ramBytes(16 << 20).build();
        Random random = new Random(seed);
        long startPfn = random.nextBoolean() ? 1 : 0xfff80;
        IovaDomain iovas = new IovaDomain(machine, 4096, startPfn, true, entries);
        NaiveDomain model = new NaiveDomain(4096, startPfn, cpus, entries);
        List<Held> held = new ArrayList<>();
        int refused = 0;
        for (int step = 0; step < 250; step++) {
            int cpu = random.nextInt(cpus);
            if (random.nextInt(9) == 0) {
                int ms = 1 + random.nextInt(150);
                machine.clock().advance(ms * 1_000_000L);
                model.advanceMs(ms);
            } else if (held.isEmpty() || random.nextInt(20) < 11) {
                refused += alloc(iovas, model, random, cpu, held) ? 0 : 1;
            } else {
                Held one = held.remove(random.nextInt(held.size()));
                iovas.freeFast(cpu, one.pfn(), one.size());
                model.freeFast(cpu, one.pfn(), one.size());
            }
            assertSame(iovas.tree(), model.tree);
        }
        Statistics.label("some refused").collect(refused > 0);
        machine.close();
    }

    private static boolean alloc(IovaDomain iovas, NaiveDomain model, Random random, int cpu, List<Held> held) {
        long size = random.nextInt(6) == 0 ? 1L + random.nextInt(70) : 1L + random.nextInt(4);
        long limit = random.nextInt(4) == 0 ? 0xfffff - random.nextInt(0x100) : 0xfffff;
        limit = random.nextInt(10) == 0 ? 0x1fffff : limit;
        boolean flush = random.nextBoolean();
        long pfn = iovas.allocFast(cpu, size, limit, flush);
        assertThat(pfn).isEqualTo(model.allocFast(cpu, size, limit, flush));
        if (pfn != 0) {
            held.add(new Held(pfn, size));
        }
        return pfn != 0;
    }

    private static void assertSame(IovaTree tree, NaiveIovas model) {
        int range = tree.first();
        for (Range expected : model.ranges) {
            assertThat(tree.lo(range)).isEqualTo(expected.lo);
            range = range == IovaTree.ANCHOR ? range : tree.next(range);
        }
        assertThat(tree.max32AllocSize()).isEqualTo(model.max32);
        assertThat(tree.lo(tree.cached32Range())).isEqualTo(model.cached32.lo);
        assertThat(tree.lo(tree.cachedRange())).isEqualTo(model.cached.lo);
    }
}
