package io.pagewalk.backends.iommu.driver;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.unit.VtdRegisters;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.spi.BusPort;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;
import net.jqwik.api.statistics.Statistics;

/**
 * Random maps and unmaps against a map of pages: the driver's look-up, a naive reading of the bytes and the unit agree
 * with it after every step.
 */
class VtdTranslationProperties {
    private static final long PAGE = 4096;
    private static final long MIB2 = 2L << 20;
    private static final int PAGES_PER_MIB2 = 512;

    /** Where the tests map: six stretches of 2 MiB, at both ends of gigabytes and of the width. */
    private static final long[] STRETCHES = {
        0, MIB2, (1L << 30) - MIB2, 1L << 30, (1L << 38) + MIB2, (1L << 39) - MIB2,
    };

    /**
     * One step.
     *
     * @param stretch which stretch
     * @param page first page in it
     * @param pages how many
     * @param prot permissions, 0 to unmap
     * @param target a seed for the physical address
     */
    record Step(int stretch, int page, int pages, int prot, int target) {
        long iova() {
            return STRETCHES[stretch] + page * PAGE;
        }

        boolean isLarge() {
            return page == 0 && pages == PAGES_PER_MIB2;
        }

        long physAddr() {
            return 0x1_0000_0000L + (isLarge() ? target % 16 * MIB2 : target % 0x10000 * PAGE);
        }
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        Arbitrary<Integer> stretch = Arbitraries.integers().between(0, STRETCHES.length - 1);
        Arbitrary<Integer> prot = Arbitraries.of(
                0,
                0,
                IommuProt.READ,
                IommuProt.WRITE,
                IommuProt.READ | IommuProt.WRITE,
                IommuProt.READ | IommuProt.WRITE);
        Arbitrary<Integer> target = Arbitraries.integers().between(0, 1 << 20);
        Arbitrary<Step> small = Combinators.combine(
                        stretch,
                        Arbitraries.of(0, 1, 2, 7, 255, 508, 509, 510, 511),
                        Arbitraries.integers().between(1, 8),
                        prot,
                        target)
                .as((s, page, pages, p, t) -> new Step(s, page, Math.min(pages, PAGES_PER_MIB2 - page), p, t));
        Arbitrary<Step> large =
                Combinators.combine(stretch, prot, target).as((s, p, t) -> new Step(s, 0, PAGES_PER_MIB2, p, t));
        return Arbitraries.frequencyOf(Tuple.of(5, small), Tuple.of(1, large))
                .list()
                .ofMinSize(1)
                .ofMaxSize(25);
    }

    /** What a page is mapped to: address with permission bits, and whether by a large page. */
    private record Target(long physAddr, int prot, boolean large) {}

    @Property(tries = 150)
    void driverBytesAndHardwareAgreeWithTheModel(@ForAll("steps") List<Step> steps) {
        VtdWorld world =
                VtdWorld.create(VtdWorld.smallPool().with("iommu.widthBits", 39).with("iommu.iotlbEntries", 64));
        Map<Long, Target> model = new TreeMap<>();
        for (Step step : steps) {
            apply(world, model, step);
            check(world, model, step);
        }
        assertThat(world.violations()).isEmpty();
        Statistics.label("large pages alive").collect(model.values().stream().anyMatch(Target::large));
    }

    /** Keeps to what well-behaved software does: it maps only what is free and unmaps only what is mapped, whole. */
    private static void apply(VtdWorld world, Map<Long, Target> model, Step step) {
        if (step.prot() == 0) {
            unmap(world, model, step);
        } else if (isFree(model, step)) {
            map(world, model, step);
        }
    }

    private static boolean isFree(Map<Long, Target> model, Step step) {
        for (int i = 0; i < step.pages(); i++) {
            if (model.containsKey(step.iova() + i * PAGE)) {
                return false;
            }
        }
        return true;
    }

    private static void map(VtdWorld world, Map<Long, Target> model, Step step) {
        long pageSize = step.isLarge() ? MIB2 : PAGE;
        long count = step.isLarge() ? 1 : step.pages();
        assertThat(world.table.mapPages(step.iova(), step.physAddr(), pageSize, count, step.prot()))
                .isZero();
        for (int i = 0; i < step.pages(); i++) {
            model.put(step.iova() + i * PAGE, new Target(step.physAddr() + i * PAGE, step.prot(), step.isLarge()));
        }
    }

    private static void unmap(VtdWorld world, Map<Long, Target> model, Step step) {
        for (int i = 0; i < step.pages(); i++) {
            long iova = step.iova() + i * PAGE;
            Target target = model.get(iova);
            if (target != null && !target.large()) {
                assertThat(world.unmap(iova, PAGE)).isEqualTo(PAGE);
                model.remove(iova);
            } else if (target != null && iova % MIB2 == 0) {
                assertThat(world.unmap(iova, MIB2)).isEqualTo(MIB2);
                forgetLarge(model, iova);
            }
        }
    }

    private static void forgetLarge(Map<Long, Target> model, long iova) {
        for (int i = 0; i < PAGES_PER_MIB2; i++) {
            model.remove(iova + i * PAGE);
        }
    }

    private static void check(VtdWorld world, Map<Long, Target> model, Step step) {
        NaiveWalk naive = new NaiveWalk(world.machine.memory());
        long root = world.driver.registers().read64(VtdRegisters.RTADDR);
        for (int i = -1; i <= Math.min(step.pages(), 9); i++) {
            long iova = step.iova() + i * PAGE + 0x123;
            if (iova >= 0 && iova < 1L << 39) {
                Target target = model.get(iova - 0x123);
                long expected = target == null ? 0 : target.physAddr() + 0x123;
                assertThat(world.table.iovaToPhys(iova)).isEqualTo(expected);
                checkAccess(world, naive, root, iova, target != null, expected, Access.READ);
                checkAccess(
                        world, naive, root, iova, target != null && (target.prot() & 2) != 0, expected, Access.WRITE);
            }
        }
    }

    private static void checkAccess(
            VtdWorld world, NaiveWalk naive, long root, long iova, boolean allowed, long expected, Access access) {
        long byBytes = naive.translate(root, world.device.requesterId(), iova, access == Access.WRITE);
        assertThat(byBytes).isEqualTo(allowed ? expected : NaiveWalk.NOTHING);
        for (int pass = 0; pass < 2; pass++) {
            long byUnit = world.translate(iova, access);
            assertThat(byUnit).isEqualTo(allowed ? expected : BusPort.fault(access == Access.WRITE ? 5 : 6));
        }
    }
}
