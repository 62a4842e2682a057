package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Mmap;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.statistics.Statistics;

/**
 * What is charged is what is registered, after any calls and any failure inside them; the limit lets in what fits and
 * nothing else (rdma:UMEM-10, UMEM-16, UMEM-18, UMEM-21, CONV-6).
 */
class UmemAccountingProperties {
    private static final int AREA_PAGES = 40;

    /** A call, with numbers that each kind reads its own way. */
    record Step(String kind, int a, int b, boolean yes) {}

    @Provide
    Arbitrary<List<Step>> programs() {
        Arbitrary<String> kinds = Arbitraries.of(
                "get", "get", "get", "release", "release", "limit", "cap", "unmap", "map", "touch", "fail");
        Arbitrary<Integer> numbers = Arbitraries.integers().between(0, AREA_PAGES * PAGE);
        return Combinators.combine(kinds, numbers, numbers, Arbitraries.of(true, false))
                .as(Step::new)
                .list()
                .ofMinSize(5)
                .ofMaxSize(30);
    }

    /** What a process did, next to what it should have come to. */
    private static final class Run {
        final UmemWorld world = UmemWorld.onBus(DeviceConfig.named("nic"));
        final long area = world.anon(AREA_PAGES);
        final List<Umem> live = new ArrayList<>();
        long charged;
        long limitPages = 2048;
        boolean mayExceed;

        void step(Step step) {
            switch (step.kind) {
                case "get" -> register(area + step.a, step.b / 4, step.yes ? AccessFlags.LOCAL_WRITE : 0);
                case "release" -> release(step.a);
                case "limit" -> limit(step.a % 64);
                case "cap" -> cap(step.yes);
                case "unmap" -> world.process.munmap(page(step.a), PAGE);
                case "map" -> map(page(step.a));
                case "touch" -> touch(page(step.a));
                case "fail" -> world.machine.failures().failNth(1 + step.a % 12);
                default -> throw new AssertionError(step.kind);
            }
            assertThat(world.pinnedVm()).isEqualTo(charged);
        }

        private long page(int number) {
            return area + (long) (number % AREA_PAGES) * PAGE;
        }

        private void register(long addr, long size, int access) {
            long pages = ((addr + size + PAGE - 1) / PAGE) - addr / PAGE;
            boolean fits = charged + pages <= limitPages || mayExceed;
            int error = world.get(addr, size, access);
            if (error == 0) {
                assertThat(fits).isTrue();
                charged += pages;
                live.add(world.result.umem());
                Statistics.collect("registered");
                return;
            }
            UmemFailureReason reason = world.result.failure().reason();
            Statistics.collect(reason);
            if (reason == UmemFailureReason.MEMLOCK_LIMIT) {
                assertThat(fits).isFalse();
                assertThat(error).isEqualTo(-Errno.ENOMEM);
                assertThat(world.result.failure().numbers())
                        .containsExactly(pages, charged, limitPages, (charged + pages) * PAGE);
            }
        }

        private void release(int which) {
            if (!live.isEmpty()) {
                Umem umem = live.remove(which % live.size());
                charged -= umem.numPages();
                umem.close();
            }
        }

        private void limit(int pages) {
            limitPages = pages;
            world.process.setMemlockLimit((long) pages * PAGE + (pages == 0 ? 1 : 0));
        }

        private void cap(boolean yes) {
            mayExceed = yes;
            world.process.setCapIpcLock(yes);
        }

        private void map(long addr) {
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;
            world.process.mmap(addr, PAGE, Mmap.PROT_READ | Mmap.PROT_WRITE, flags, null, 0);
        }

        private void touch(long addr) {
            world.process.write(addr, new byte[] {1}, 0, 1);
        }

        void end() {
            world.machine.failures().disarm();
            while (!live.isEmpty()) {
                release(0);
            }
            assertThat(world.pinnedVm()).isZero();
            assertThat(world.pinsHeld()).isZero();
            assertThat(world.machine.scatterlists().liveChunks()).isEmpty();
            assertThat(world.process.addressSpace().structureReferences()).isEqualTo(1);
        }
    }

    @Property(tries = 400)
    void whatIsChargedIsWhatIsRegistered(@ForAll("programs") List<Step> program) {
        Run run = new Run();
        program.forEach(run::step);
        run.end();
    }

    @Property(tries = 100)
    void whatFitsIsNeverRefused(@ForAll @IntRange(min = 1, max = 32) int limit, @ForAll @IntRange(max = 32) int held) {
        UmemWorld world = UmemWorld.software();
        long addr = world.anon(64);
        world.process.setCapIpcLock(true);
        if (held > 0) {
            assertThat(world.get(addr, (long) held * PAGE, 0)).isZero();
        }
        world.process.setCapIpcLock(false);
        world.process.setMemlockLimit((long) limit * PAGE + PAGE - 1);

        for (int pages = 1; pages <= 33; pages++) {
            int error = world.get(addr, (long) pages * PAGE, 0);
            assertThat(error).isEqualTo(held + pages <= limit ? 0 : -Errno.ENOMEM);
            if (error == 0) {
                world.result.umem().close();
            }
        }
    }
}
