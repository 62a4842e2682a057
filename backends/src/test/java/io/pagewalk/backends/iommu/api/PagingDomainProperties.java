package io.pagewalk.backends.iommu.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.driver.BytesOfTables;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.statistics.Statistics;

/** Whatever is mapped and unmapped, a sorted map predicts it, and whoever reads the bytes agrees. */
class PagingDomainProperties {
    private static final long PAGE = 4096;
    private static final long MIB2 = 2L << 20;
    private static final long GIB = 1L << 30;
    private static final long WIDTH_END = 1L << 39;

    /** Places where something happens: ends of tables, of gigabytes, of the width. */
    private static final long[] PLACES = {
        0,
        PAGE,
        MIB2 - PAGE,
        MIB2,
        2 * MIB2,
        GIB - MIB2,
        GIB - PAGE,
        GIB,
        GIB + MIB2,
        2 * GIB,
        3 * GIB,
        WIDTH_END - GIB,
        WIDTH_END - MIB2,
        WIDTH_END - PAGE,
        WIDTH_END,
    };

    private static final long[] SIZES = {
        0,
        PAGE,
        2 * PAGE,
        511 * PAGE,
        MIB2,
        MIB2 + PAGE,
        2 * MIB2,
        GIB - MIB2,
        GIB,
        GIB + MIB2 + PAGE,
        2 * GIB,
        1,
        PAGE + 1,
    };

    /**
     * One step.
     *
     * @param map whether to map
     * @param iova where
     * @param phys to what
     * @param size how much
     * @param prot permissions
     */
    record Step(boolean map, long iova, long phys, long size, int prot) {
        /** Small pages by the hundred thousand would only cost time. */
        Step bounded() {
            boolean large = (iova - phys) % MIB2 == 0 || !map;
            return large ? this : new Step(true, iova, phys, size % (2 * MIB2), prot);
        }
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        Arbitrary<Long> places = Arbitraries.frequencyOf(
                Tuple.of(4, Arbitraries.of(Arrays.stream(PLACES).boxed().toList())),
                Tuple.of(2, Arbitraries.longs().between(0, 2 * MIB2 / PAGE).map(page -> page * PAGE)),
                Tuple.of(1, Arbitraries.longs().between(0, 4 * GIB / PAGE).map(page -> page * PAGE)));
        Arbitrary<Long> sizes = Arbitraries.frequencyOf(
                Tuple.of(3, Arbitraries.of(Arrays.stream(SIZES).boxed().toList())),
                Tuple.of(2, Arbitraries.longs().between(1, 1024).map(page -> page * PAGE)));
        Arbitrary<Integer> prots = Arbitraries.frequencyOf(
                Tuple.of(8, Arbitraries.of(1, 2, 3)), Tuple.of(1, Arbitraries.of(0, IommuProt.CACHE)));
        return Combinators.combine(Arbitraries.of(true, true, false), places, places, sizes, prots)
                .as((map, iova, phys, size, prot) -> new Step(map, iova, phys, size, prot).bounded())
                .list()
                .ofMinSize(3)
                .ofMaxSize(30);
    }

    private static Machine machine() {
        return Machine.builder()
                .ramBytes(4L << 30)
                .chunkBytes(1 << 16)
                .allocatable(List.of(new PhysRange(1 << 20, (33 << 20) - 1)))
                .commandLine("swiotlb=noforce")
                .backend("iommu-strict")
                .backendOptions(BackendOptions.NONE.with("iommu.widthBits", 39).with("iommu.tablePoolBytes", 64 * PAGE))
                .build();
    }

    @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
    void sortedMapPredictsEverything(@ForAll("steps") List<Step> steps) {
        try (Machine machine = machine()) {
            Device device = machine.addDevice(DeviceConfig.named("edu"));
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            domain.attach(device);
            SortedMapModel model = new SortedMapModel();
            for (Step step : steps) {
                run(domain, model, step);
                assertThat(domain.tablePages()).isEqualTo(model.tablePages());
                probe(domain, model, step);
            }
            assertThat(leaves(domain)).isEqualTo(leaves(model));
            assertThat(BytesOfTables.leaves(machine.memory(), machine, device)).isEqualTo(leaves(model));
            collectCoverage(model, machine);
            assertSound(machine);
            unmapAll(domain, model);
            domain.detach(device);
            domain.close();
            assertSound(machine);
        }
    }

    private static void run(IommuPagingDomain domain, SortedMapModel model, Step step) {
        if (step.map()) {
            assertThat(domain.map(step.iova(), step.phys(), step.size(), step.prot()))
                    .as("%s", step)
                    .isEqualTo(model.map(step.iova(), step.phys(), step.size(), step.prot()));
        } else {
            assertThat(domain.unmap(step.iova(), step.size()))
                    .as("%s", step)
                    .isEqualTo(model.unmap(step.iova(), step.size()));
        }
    }

    private static void probe(IommuPagingDomain domain, SortedMapModel model, Step step) {
        long end = step.iova() + step.size();
        for (long iova : new long[] {step.iova(), step.iova() + 0x123, end - 1, end, end + MIB2, step.iova() - 1}) {
            if (iova >= 0) {
                assertThat(domain.iovaToPhys(iova)).isEqualTo(model.iovaToPhys(iova));
                LiveMapping found = domain.find(iova);
                assertThat(found == null).isEqualTo(model.leafAt(iova) == null);
                if (found != null) {
                    assertThat(found.physAddr() + (iova - found.iova())).isEqualTo(model.iovaToPhys(iova));
                }
            }
        }
    }

    private static List<String> leaves(IommuPagingDomain domain) {
        List<String> all = new ArrayList<>();
        for (LeafRun run : domain.leaves()) {
            for (long i = 0; i < run.count(); i++) {
                long at = i * run.leafBytes();
                all.add(text(run.iova() + at, run.physAddr() + at, run.leafBytes(), run.perm()));
            }
        }
        return all;
    }

    private static List<String> leaves(SortedMapModel model) {
        List<String> all = new ArrayList<>();
        model.leaves.forEach(
                (iova, leaf) -> all.add(text(iova, leaf.phys(), SortedMapModel.span(leaf.level()), leaf.perm())));
        return all;
    }

    private static String text(long iova, long phys, long bytes, int perm) {
        return BytesOfTables.text(iova, phys, bytes, perm);
    }

    private static void collectCoverage(SortedMapModel model, Machine machine) {
        Statistics.label("largest leaf")
                .collect(model.leaves.values().stream()
                        .mapToInt(SortedMapModel.Leaf::level)
                        .max()
                        .orElse(0));
        Statistics.label("hazards").collect(machine.log().hazardCount() != 0);
    }

    private static void unmapAll(IommuPagingDomain domain, SortedMapModel model) {
        new ArrayList<>(model.leaves.entrySet())
                .forEach(e -> domain.unmap(
                        e.getKey(), SortedMapModel.span(e.getValue().level())));
        assertThat(domain.leaves()).isEmpty();
    }

    private static void assertSound(Machine machine) {
        List<String> violations = new ArrayList<>();
        machine.checkStructure(violations::add);
        assertThat(violations).isEmpty();
    }

    @Property(tries = 60, edgeCases = EdgeCasesMode.NONE)
    void failureOfTheNthTablePageIsUndone(
            @ForAll("steps") List<Step> steps, @ForAll @IntRange(min = 1, max = 12) int nth) {
        try (Machine machine = machine()) {
            Device device = machine.addDevice(DeviceConfig.named("edu"));
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            domain.attach(device);
            machine.failures().failNth("iommu.table-page", nth);
            for (Step step : steps) {
                if (!step.map()) {
                    domain.unmap(step.iova(), step.size());
                } else if (domain.map(step.iova(), step.phys(), step.size(), step.prot()) == -Errno.ENOMEM) {
                    assertThat(machine.failures().failedAt()).isEqualTo("iommu.table-page");
                }
                assertSound(machine);
            }
            machine.failures().disarm();
            domain.detach(device);
            domain.close();
            assertSound(machine);
            IommuPagingDomain next = Iommu.of(machine).allocPagingDomain();
            assertThat(next.tablePages()).isEqualTo(1);
        }
    }

    @Property(tries = 8)
    void threadsOnRangesOfTheirOwnDoNotDisturbEachOther(@ForAll long seed) throws Exception {
        try (Machine machine = machine()) {
            Device device = machine.addDevice(DeviceConfig.named("edu"));
            IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
            domain.attach(device);
            Thread[] threads = new Thread[2];
            Throwable[] failed = new Throwable[2];
            for (int i = 0; i < 2; i++) {
                int self = i;
                threads[i] = new Thread(() -> {
                    try {
                        churn(domain, device, new Random(seed + self), self * GIB / 2);
                    } catch (Throwable t) {
                        failed[self] = t;
                    }
                });
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(failed).containsOnlyNulls();
            assertSound(machine);
            assertThat(domain.leaves()).isEmpty();
        }
    }

    /** Small pages of one half of a gigabyte, whose level-2 table both threads share. */
    private static void churn(IommuPagingDomain domain, Device device, Random random, long base) {
        for (int i = 0; i < 400; i++) {
            long iova = base + random.nextInt(64) * MIB2 + random.nextInt(512) * PAGE;
            long phys = (1L + random.nextInt(1000)) * PAGE;
            assertThat(domain.map(iova, phys, PAGE, 3, 0, "t" + base)).isZero();
            assertThat(domain.iovaToPhys(iova + 5)).isEqualTo(phys + 5);
            assertThat(device.bus().writeLong(iova, base)).isEqualTo(8);
            assertThat(domain.unmap(iova, PAGE)).isEqualTo(PAGE);
            assertThat(device.bus().writeLong(iova, base)).isZero();
        }
    }
}
