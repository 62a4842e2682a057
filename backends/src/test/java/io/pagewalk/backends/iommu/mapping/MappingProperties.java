package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.CoherentPages;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Random programs of maps and unmaps against a model that knows every translation byte by byte. */
class MappingProperties {
    private static final long PAGE = 0x1000;
    private static final long RAM_PAGES = (64L << 20) / PAGE;
    private static final int CPUS = World.CPUS;

    /** A live mapping and how to end it. */
    private record Live(String what, Map<Long, Long> pages, Runnable end) {}

    @Property(tries = 60)
    void translationsAreThoseOfTheLiveMappings(@ForAll long seed, @ForAll boolean lazy) {
        try (World world = lazy ? World.lazy() : World.strict()) {
            Random random = new Random(seed);
            List<Live> live = new ArrayList<>();
            for (int step = 0; step < 250; step++) {
                if (random.nextInt(5) < 3) {
                    mapSomething(world, random, live);
                } else if (!live.isEmpty()) {
                    live.remove(random.nextInt(live.size())).end().run();
                }
                if (random.nextInt(40) == 0) {
                    world.machine.clock().advance(4_000_000);
                }
            }
            assertTranslations(world, live);
            assertThat(world.structureViolations()).isEmpty();
            live.forEach(mapping -> mapping.end().run());
            world.assertNothingIsHeld();
        }
    }

    private static void assertTranslations(World world, List<Live> live) {
        TreeMap<Long, Long> expected = new TreeMap<>();
        for (Live mapping : live) {
            mapping.pages()
                    .forEach(
                            (iova, phys) -> assertThat(expected.put(iova, phys)).isNull());
        }
        TreeMap<Long, Long> found = new TreeMap<>();
        world.table.leaves().forEach((iova, leaf) -> {
            for (long offset = 0; offset < leaf.sizeBytes(); offset += PAGE) {
                found.put(iova + offset, leaf.physAddr() + offset);
            }
        });
        assertThat(found).isEqualTo(expected);
    }

    private static void mapSomething(World world, Random random, List<Live> live) {
        switch (random.nextInt(4)) {
            case 0 -> mapList(world, random, live);
            case 1 -> allocCoherent(world, random, live);
            default -> mapPage(world, random, live);
        }
    }

    private static long size(Random random) {
        return random.nextInt(8) == 0 ? 1L + random.nextInt(5 << 20) : 1L + random.nextInt(3 * (int) PAGE);
    }

    private static long physAddr(Random random) {
        long page = 1L + random.nextInt((int) RAM_PAGES / 2);
        return random.nextBoolean() ? page * PAGE + random.nextInt((int) PAGE) : page / 512 * (2 << 20) + PAGE;
    }

    private static void addPages(Map<Long, Long> pages, long dmaAddr, long physAddr, long sizeBytes) {
        long offset = physAddr & (PAGE - 1);
        for (long done = -offset; done < sizeBytes; done += PAGE) {
            pages.put(dmaAddr + done, physAddr + done);
        }
    }

    private static void mapPage(World world, Random random, List<Live> live) {
        long physAddr = physAddr(random);
        long size = size(random);
        long dmaAddr = world.map(random.nextInt(CPUS), physAddr, size);
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            return;
        }
        assertThat(dmaAddr & (PAGE - 1)).isEqualTo(physAddr & (PAGE - 1));
        Map<Long, Long> pages = new TreeMap<>();
        addPages(pages, dmaAddr, physAddr, size);
        int cpu = random.nextInt(CPUS);
        live.add(new Live("page", pages, () -> world.unmap(cpu, dmaAddr, size)));
    }

    private static void allocCoherent(World world, Random random, List<Live> live) {
        CoherentPages coherent = world.ops.allocCoherent(world.device, 0, size(random), Gfp.KERNEL, 0);
        if (coherent == null) {
            return;
        }
        Map<Long, Long> pages = new TreeMap<>();
        for (int i = 0; i < coherent.pageCount(); i++) {
            pages.put(coherent.dmaAddr() + i * PAGE, coherent.pagePhysAddr(i));
        }
        live.add(new Live("coherent", pages, () -> world.ops.freeCoherent(world.device, 1, coherent, 0)));
    }

    /** Entries are found again in the segments byte by byte, in order (iommu:SG-13 to SG-16). */
    private static void mapList(World world, Random random, List<Live> live) {
        int entries = 1 + random.nextInt(6);
        SgTable sg = new SgTable(entries);
        for (int i = 0; i < entries; i++) {
            sg.add(physAddr(random), size(random));
        }
        int cpu = random.nextInt(CPUS);
        int segments = world.ops.mapSg(world.device, cpu, sg, entries, DmaDirection.BIDIRECTIONAL, 0);
        if (segments < 0) {
            return;
        }
        Map<Long, Long> pages = new TreeMap<>();
        int segment = 0;
        long within = 0;
        for (int i = 0; i < entries; i++) {
            if (within == sg.dmaLengthBytes(segment)) {
                segment++;
                within = 0;
            }
            addPages(pages, sg.dmaAddr(segment) + within, sg.physAddr(i), sg.lengthBytes(i));
            within += sg.lengthBytes(i);
        }
        assertThat(segment).isEqualTo(segments - 1);
        live.add(new Live(
                "list", pages, () -> world.ops.unmapSg(world.device, cpu, sg, entries, DmaDirection.BIDIRECTIONAL, 0)));
    }

    @Property(tries = 150)
    void failureOfAnyPointLeavesNothingHeld(@ForAll long seed, @ForAll @IntRange(min = 1, max = 60) int nth) {
        try (World world = World.untrustedOrNot(seed % 2 == 0)) {
            Random random = new Random(seed);
            long freeBytes = world.machine.pages().freeBytes();
            world.machine.failures().failNth(nth);
            List<Live> live = new ArrayList<>();
            for (int step = 0; step < 40; step++) {
                mapSomething(world, random, live);
                if (random.nextInt(3) == 0 && !live.isEmpty()) {
                    live.remove(random.nextInt(live.size())).end().run();
                }
            }
            world.machine.failures().disarm();
            assertThat(world.structureViolations()).isEmpty();
            live.forEach(mapping -> mapping.end().run());
            world.assertNothingIsHeld();
            assertThat(world.machine.pages().freeBytes()).isEqualTo(freeBytes);
        }
    }

    @Property(tries = 60)
    void refusalOfTheTablesLeavesNothingHeld(@ForAll long seed, @ForAll @IntRange(min = 0, max = 60) int calls) {
        try (World world = World.untrustedOrNot(seed % 2 == 0)) {
            world.table.failAfterCalls(calls);
            Random random = new Random(seed);
            List<Live> live = new ArrayList<>();
            for (int step = 0; step < 30; step++) {
                mapSomething(world, random, live);
            }
            live.forEach(mapping -> mapping.end().run());
            world.assertNothingIsHeld();
        }
    }
}
