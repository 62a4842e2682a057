package io.pagewalk.rdma.umem;

import static io.pagewalk.rdma.umem.UmemWorld.PAGE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Mmap;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.statistics.Statistics;

/**
 * The chain from a process's address over frames to DMA addresses, on every backend and in any order of calls: a device
 * reads and writes the bytes that were registered, whatever the process maps there afterwards (rdma:UMEM-15, UMEM-17,
 * UMEM-31, MM-12, DMA-5, DMA-20).
 *
 * <p>The model is two arrays for each page: the bytes that the process sees, and those that a registration holds. They
 * are one array until the process unmaps the page and maps another in its place.
 */
class UmemChainProperties {
    private static final int AREA_PAGES = 12;

    /** A call, with numbers that each kind reads its own way. */
    record Step(String kind, int offset, int length, int seed) {}

    @Provide
    Arbitrary<String> backends() {
        return Arbitraries.of("direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt", "software");
    }

    @Provide
    Arbitrary<List<Step>> programs() {
        Arbitrary<String> kinds = Arbitraries.of("get", "get", "release", "device", "device", "cpu", "remap");
        Arbitrary<Integer> offsets = Arbitraries.integers().between(0, AREA_PAGES * PAGE - 1);
        return Combinators.combine(kinds, offsets, offsets, Arbitraries.integers())
                .as(Step::new)
                .list()
                .ofMinSize(4)
                .ofMaxSize(25);
    }

    /** A registration, and the model's pages that it holds. */
    private record Registered(Umem umem, long addr, int sizeBytes, List<byte[]> pages) {}

    /** A process and a device, beside the model of their memory. */
    private static final class Run {
        final UmemWorld world;
        final boolean bounces;
        final long area;
        final List<byte[]> pages = new ArrayList<>();
        final List<Registered> live = new ArrayList<>();

        Run(String backend) {
            world = Worlds.on(backend);
            bounces = backend.equals("swiotlb");
            area = world.scattered(AREA_PAGES);
            for (int page = 0; page < AREA_PAGES; page++) {
                pages.add(world.process.readBytes(area + (long) page * PAGE, PAGE));
            }
        }

        void step(Step step) {
            int length = 1 + step.length % (AREA_PAGES * PAGE - step.offset);
            switch (step.kind) {
                case "get" -> register(step.offset, length);
                case "release" -> release(step.seed);
                case "device" -> deviceWrites(step);
                case "cpu" -> processWrites(step.offset, random(step.seed, length));
                case "remap" -> remap(step.offset / PAGE);
                default -> throw new AssertionError(step.kind);
            }
            live.forEach(this::deviceSeesWhatIsRegistered);
            if (!bounces) {
                theProcessSeesItsPages();
            }
        }

        private void register(int offset, int length) {
            if (bounces && !live.isEmpty()) {
                return; // two copies of one page, and the last to be released wins
            }
            long addr = area + offset;
            Umem umem = world.umems.pin(world.device, world.process, addr, length, AccessFlags.LOCAL_WRITE);
            int firstPage = offset / PAGE;
            live.add(new Registered(
                    umem, addr, length, List.copyOf(pages.subList(firstPage, (offset + length - 1) / PAGE + 1))));
            Statistics.collect(umem.table().nents() == 1 ? "one segment" : "segments");
        }

        private void release(int which) {
            if (!live.isEmpty()) {
                live.remove(Math.floorMod(which, live.size())).umem().close();
                theProcessSeesItsPages();
            }
        }

        private void deviceWrites(Step step) {
            if (live.isEmpty()) {
                return;
            }
            Registered target = live.get(Math.floorMod(step.seed, live.size()));
            int from = step.offset % target.sizeBytes;
            byte[] bytes = random(step.seed, 1 + step.length % (target.sizeBytes - from));
            forEachPage(target.addr + from, bytes.length, (addr, done, length) -> {
                world.deviceWrite(target.umem.dmaAddr(addr), bytes, done, length);
                System.arraycopy(bytes, done, pageAt(target, addr), (int) (addr % PAGE), length);
            });
        }

        /** A process that writes under a bounced registration writes into what the release overwrites. */
        private void processWrites(int offset, byte[] bytes) {
            if (bounces && !live.isEmpty()) {
                return;
            }
            world.process.writeBytes(area + offset, bytes);
            forEachPage(
                    area + offset,
                    bytes.length,
                    (addr, done, length) -> System.arraycopy(
                            bytes, done, pages.get((int) ((addr - area) / PAGE)), (int) (addr % PAGE), length));
        }

        private void remap(int page) {
            long addr = area + (long) page * PAGE;
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;
            world.process.munmap(addr, PAGE);
            world.process.mmap(addr, PAGE, Mmap.PROT_READ | Mmap.PROT_WRITE, flags, null, 0);
            world.process.putLong(addr, 0x6e65_7721L);
            pages.set(page, world.process.readBytes(addr, PAGE));
            Statistics.collect(live.isEmpty() ? "mapped anew" : "mapped anew under a registration");
        }

        private void deviceSeesWhatIsRegistered(Registered registered) {
            byte[] seen = new byte[registered.sizeBytes];
            byte[] held = new byte[registered.sizeBytes];
            forEachPage(registered.addr, registered.sizeBytes, (addr, done, length) -> {
                world.deviceRead(registered.umem.dmaAddr(addr), seen, done, length);
                System.arraycopy(pageAt(registered, addr), (int) (addr % PAGE), held, done, length);
            });
            assertThat(seen).as("%s", registered.umem).isEqualTo(held);
        }

        private void theProcessSeesItsPages() {
            for (int page = 0; page < AREA_PAGES; page++) {
                assertThat(world.process.readBytes(area + (long) page * PAGE, PAGE))
                        .as("page %d", page)
                        .isEqualTo(pages.get(page));
            }
        }

        private static byte[] pageAt(Registered registered, long addr) {
            return registered.pages.get((int) (addr / PAGE - registered.addr / PAGE));
        }

        void end() {
            while (!live.isEmpty()) {
                release(0);
            }
            assertThat(world.pinsHeld()).isZero();
            assertThat(world.pinnedVm()).isZero();
        }
    }

    /** What to do with the part of a range that lies in one page. */
    private interface PagePart {
        void at(long addr, int done, int length);
    }

    private static void forEachPage(long addr, int sizeBytes, PagePart part) {
        for (int done = 0; done < sizeBytes; ) {
            int length = (int) Math.min(sizeBytes - done, PAGE - (addr + done) % PAGE);
            part.at(addr + done, done, length);
            done += length;
        }
    }

    private static byte[] random(int seed, int length) {
        byte[] bytes = new byte[length];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    @Property(tries = 200)
    void aDeviceAndAProcessShareTheBytesThatWereRegistered(
            @ForAll("backends") String backend, @ForAll("programs") List<Step> program) {
        Run run = new Run(backend);
        program.forEach(run::step);
        run.end();
    }
}
