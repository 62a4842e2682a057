package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.KernelModel;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.PinRefusal;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserFile;
import java.util.ArrayList;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/** What is foreseen is what comes, and looking changes nothing (rdma:GUP-3 to GUP-8, UMEM-3 to UMEM-15). */
class PinForecastProperties {
    private static final long BASE = 0x7000_0000_0000L;
    private static final List<FileKind> KINDS = List.of(FileKind.values());
    private static final int SLOTS = 6;
    private static final int SLOT_PAGES = 4;

    /** A change of the address space; each kind reads the numbers its own way. */
    record Step(int kind, int slot, int page, int choice) {}

    @Provide
    Arbitrary<List<Step>> steps() {
        Arbitrary<Integer> kinds = Arbitraries.integers().between(0, 8);
        Arbitrary<Integer> numbers = Arbitraries.integers().between(0, 63);
        return Combinators.combine(kinds, numbers, numbers, numbers)
                .as(Step::new)
                .list()
                .ofMinSize(8)
                .ofMaxSize(40);
    }

    @Provide
    Arbitrary<List<PinForecast.Range>> ranges() {
        Arbitrary<Long> starts = Arbitraries.longs().between(0, SLOTS * SLOT_PAGES * PAGE);
        Arbitrary<Long> sizes = Arbitraries.longs().between(0, 2 * SLOT_PAGES * PAGE);
        Arbitrary<Integer> access =
                Arbitraries.of(0, 1, 0, 1, 0, 1, AccessFlags.REMOTE_READ, AccessFlags.MW_BIND, AccessFlags.ON_DEMAND);
        return Combinators.combine(starts, sizes, access)
                .as((start, size, rights) -> new PinForecast.Range(BASE + start, size, rights))
                .list()
                .ofMinSize(1)
                .ofMaxSize(6);
    }

    private static final class Run {
        final UmemWorld world;
        final Process process;

        Run(KernelModel model) {
            world = UmemWorld.software(model);
            process = world.process;
        }

        private static long slot(Step step) {
            return BASE + (long) (step.slot % SLOTS) * SLOT_PAGES * PAGE;
        }

        private static long page(Step step) {
            return BASE + (long) (step.page % (SLOTS * SLOT_PAGES)) * PAGE;
        }

        void step(Step step) {
            switch (step.kind) {
                case 0, 1, 2 -> map(step);
                case 3 -> process.write(page(step), new byte[] {1}, 0, 1);
                case 4 -> process.read(page(step), new byte[1], 0, 1);
                case 5 -> process.pkeyMprotect(page(step), PAGE, step.choice % 8, step.choice / 8 % 2);
                case 6 ->
                    process.madvise(page(step), PAGE, step.choice % 4 == 0 ? Mmap.MADV_HWPOISON : Mmap.MADV_DONTNEED);
                case 7 -> process.fork();
                default -> process.setPkru(step.choice % 16 == 0 ? (step.choice / 16) << 2 : 0);
            }
        }

        private void map(Step step) {
            long addr = slot(step);
            process.munmap(addr, SLOT_PAGES * PAGE);
            boolean shared = step.page % 2 == 0;
            int prot = step.page / 2 % 8;
            int flags = (shared ? Mmap.MAP_SHARED : Mmap.MAP_PRIVATE) | Mmap.MAP_FIXED;
            int kinds = KINDS.size();
            int choice = step.choice % (kinds + 4);
            if (choice < kinds) {
                FileKind kind = KINDS.get(choice);
                long size = (long) PAGE * (step.choice % 3 == 0 ? SLOT_PAGES - 1 : SLOT_PAGES);
                UserFile file = UserFile.create(world.machine, kind, "f", size);
                process.mmap(
                        addr,
                        SLOT_PAGES * PAGE,
                        prot,
                        flags,
                        step.choice % 5 == 0 ? file.forReading() : file.forWriting(),
                        0);
            } else if (choice == kinds) {
                process.mmapDevice(addr, 0xfe000, SLOT_PAGES * PAGE, prot);
            } else {
                process.mmap(addr, SLOT_PAGES * PAGE, prot, flags | Mmap.MAP_ANONYMOUS, null, 0);
            }
        }

        /** All that looking could have changed. */
        List<Long> fingerprint() {
            List<Long> all = new ArrayList<>();
            all.add(world.pins.acquired());
            all.add(world.pins.released());
            all.add(world.pinnedVm());
            all.add(world.machine.pages().allocatedPages());
            all.add(process.addressSpace().hasPinned() ? 1L : 0L);
            for (int page = 0; page < SLOTS * SLOT_PAGES; page++) {
                all.add(process.pfnOf(BASE + (long) page * PAGE));
            }
            return all;
        }

        void compare(PinForecast.Range range) {
            List<Long> before = fingerprint();
            PinForecast.Answer answer =
                    PinForecast.of(process, List.of(range)).answers().get(0);
            assertThat(fingerprint()).isEqualTo(before);
            int error = world.get(range.userAddr(), range.sizeBytes(), range.access());
            assertThat(answer.errno()).as("%s of %s", answer, range).isEqualTo(error);
            if (error == 0) {
                Statistics.collect("registered");
                assertThat(answer.pages()).isEqualTo(world.pinnedVm());
                world.result.umem().close();
                return;
            }
            UmemFailure failure = world.result.failure();
            assertThat(answer.reason()).isEqualTo(failure.reason());
            PinRefusal refusal = answer.refusal();
            Statistics.collect(refusal == null ? failure.reason() : refusal.cause());
            if (refusal != null) {
                assertThat(refusal.address()).isEqualTo(failure.numbers().get(0));
            }
        }
    }

    @Property(tries = 1500, edgeCases = EdgeCasesMode.NONE)
    void whatIsForeseenIsWhatComes(
            @ForAll("steps") List<Step> steps,
            @ForAll("ranges") List<PinForecast.Range> ranges,
            @ForAll boolean old,
            @ForAll boolean killed) {
        Run run = new Run(old ? KernelModel.LINUX_5 : KernelModel.LINUX_6_12);
        steps.forEach(run::step);
        if (killed && steps.size() % 4 == 0) {
            run.process.kill();
        }
        ranges.forEach(run::compare);
    }
}
