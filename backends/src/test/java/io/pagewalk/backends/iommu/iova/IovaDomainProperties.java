package io.pagewalk.backends.iommu.iova;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Live ranges never overlap, whichever CPU takes and frees them, and all of them come back. */
class IovaDomainProperties {
    private static final int CPUS = 3;

    private record Held(long pfn, long size) {}

    @Property(tries = 60)
    void liveRangesOfAllCpusAreDisjoint(@ForAll long seed, @ForAll @IntRange(min = 0, max = 300) int live) {
        Machine machine = Machine.builder().cpus(CPUS).ramBytes(16 << 20).build();
        IovaDomain iovas = new IovaDomain(machine, 4096, 0xff000, true);
        Random random = new Random(seed);
        NavigableMap<Long, Held> held = new TreeMap<>();
        for (int step = 0; step < 3000; step++) {
            if (held.size() <= live && random.nextInt(3) != 0) {
                take(iovas, random, held);
            } else if (!held.isEmpty()) {
                giveOne(iovas, random, held);
            }
            if (random.nextInt(200) == 0) {
                machine.clock().advance(50_000_000);
            }
        }
        assertSound(iovas);
        held.values().forEach(h -> iovas.freeFast(random.nextInt(CPUS), h.pfn(), h.size()));
        iovas.releaseCaches();
        assertThat(iovas.tree().first()).isEqualTo(IovaTree.ANCHOR);
        machine.close();
    }

    private static void take(IovaDomain iovas, Random random, NavigableMap<Long, Held> held) {
        long size = 1L + random.nextInt(random.nextBoolean() ? 4 : 70);
        long limit = random.nextBoolean() ? 0xfffff : 0x1fffff;
        long pfn = iovas.allocFast(random.nextInt(CPUS), size, limit, random.nextBoolean());
        if (pfn != 0) {
            assertThat(pfn + size - 1).isLessThanOrEqualTo(limit);
            assertDisjoint(held, pfn, size);
            held.put(pfn, new Held(pfn, size));
        }
    }

    private static void assertDisjoint(NavigableMap<Long, Held> held, long pfn, long size) {
        Map.Entry<Long, Held> before = held.floorEntry(pfn + size - 1);
        if (before != null) {
            assertThat(before.getValue().pfn() + before.getValue().size()).isLessThanOrEqualTo(pfn);
        }
    }

    private static void giveOne(IovaDomain iovas, Random random, NavigableMap<Long, Held> held) {
        List<Long> keys = new ArrayList<>(held.keySet());
        Held one = Objects.requireNonNull(held.remove(keys.get(random.nextInt(keys.size()))));
        iovas.freeFast(random.nextInt(CPUS), one.pfn(), one.size());
    }

    private static void assertSound(IovaDomain iovas) {
        List<String> violations = new ArrayList<>();
        iovas.checkStructure("domain", violations::add);
        assertThat(violations).isEmpty();
    }

    @Property(tries = 10)
    void cpusThatRunAtOnceNeverHoldTheSameRange(@ForAll long seed) throws Exception {
        Machine machine = Machine.builder().cpus(CPUS).ramBytes(16 << 20).build();
        IovaDomain iovas = new IovaDomain(machine, 4096, 1, true);
        byte[] owners = new byte[1 << 20];
        ExecutorService threads = Executors.newFixedThreadPool(CPUS);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int cpu = 0; cpu < CPUS; cpu++) {
                int self = cpu;
                running.add(threads.submit(() -> churn(iovas, self, new Random(seed + self), owners)));
            }
            for (Future<?> one : running) {
                one.get();
            }
        } finally {
            threads.shutdownNow();
        }
        assertSound(iovas);
        iovas.releaseCaches();
        assertThat(iovas.tree().first()).isEqualTo(IovaTree.ANCHOR);
        machine.close();
    }

    /** A range is marked while it is held; two holders of one pfn would see each other's mark. */
    private static void churn(IovaDomain iovas, int cpu, Random random, byte[] owners) {
        List<Held> held = new ArrayList<>();
        for (int step = 0; step < 5000; step++) {
            if (held.size() < 200 && random.nextInt(5) < 3) {
                long size = 1L + random.nextInt(40);
                long pfn = iovas.allocFast(cpu, size, 0xfffff, true);
                assertThat(pfn).isNotZero();
                mark(owners, pfn, size, (byte) 0, (byte) (cpu + 1));
                held.add(new Held(pfn, size));
            } else if (!held.isEmpty()) {
                Held one = held.remove(random.nextInt(held.size()));
                mark(owners, one.pfn(), one.size(), (byte) (cpu + 1), (byte) 0);
                iovas.freeFast(cpu, one.pfn(), one.size());
            }
        }
        for (Held one : held) {
            mark(owners, one.pfn(), one.size(), (byte) (cpu + 1), (byte) 0);
            iovas.freeFast(cpu, one.pfn(), one.size());
        }
    }

    private static void mark(byte[] owners, long pfn, long size, byte from, byte to) {
        for (long p = pfn; p < pfn + size; p++) {
            if (owners[(int) p] != from) {
                throw new AssertionError("pfn 0x" + Long.toHexString(p) + " is held twice");
            }
            owners[(int) p] = to;
        }
    }
}
