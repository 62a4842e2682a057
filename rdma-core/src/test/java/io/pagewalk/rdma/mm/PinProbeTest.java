package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.HUGE;
import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.R;
import static io.pagewalk.rdma.mm.World.RW;
import static io.pagewalk.rdma.mm.World.W;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.rdma.mm.PinRefusal.Cause;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName(
        "Where a pin would stop, and why, as the pin itself then shows (rdma:GUP-3 to GUP-8, GUP-15, GUP-16, MM-11)")
class PinProbeTest {
    private static final int PRIVATE = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS;
    private static final int SHARED = Mmap.MAP_SHARED;
    private static final int FIXED = PRIVATE | Mmap.MAP_FIXED;
    private static final long TOP = Mapper.TASK_SIZE;

    /** The probe names the page and the cause, and pins that go on where the last came short stop there too. */
    private static void assertStops(World world, long address, int pages, int flags, long at, Cause cause) {
        assertThat(world.process.pinRefusal(address, pages, flags)).isEqualTo(new PinRefusal(at, cause));
        long done = 0;
        int taken = world.pin(address, pages, flags);
        while (taken > 0 && done + taken < pages) {
            done += taken;
            taken = world.pin(address + done * PAGE, (int) (pages - done), flags);
        }
        assertThat(taken).as("what the call says there").isEqualTo(-cause.errno());
        assertThat(address / PAGE + done).isEqualTo(at / PAGE);
    }

    private static void assertPasses(World world, long address, int pages, int flags) {
        assertThat(world.process.pinRefusal(address, pages, flags)).isNull();
        assertThat(world.pin(address, pages, flags)).isEqualTo(pages);
    }

    // ---- the call

    @Test
    void probeLeavesEverythingAsItIs() {
        try (World world = new World()) {
            long address = world.untouched(3);
            world.process.putLong(address, 1);
            world.process.getLong(address + PAGE);

            assertThat(world.process.pinRefusal(address, 3, LONG_WRITE)).isNull();
            assertThat(world.process.pinRefusal(address + 5, 3, LONGTERM)).isNull();

            assertThat(world.process.addressSpace().hasPinned()).isFalse();
            assertThat(world.process.pfnOf(address + PAGE)).as("the zero page").isEqualTo(world.memory.zeroPfn());
            assertThat(world.process.pfnOf(address + 2 * PAGE)).isEqualTo(-1);
            assertThat(world.frames.refCount(world.process.pfnOf(address))).isEqualTo(1);
            world.assertCounted(0, 0);
            assertPasses(world, address, 3, LONG_WRITE);
        }
    }

    @Test
    void noPagesAreNeverRefused() {
        try (World world = new World()) {
            assertThat(world.process.pinRefusal(0, 0, LONGTERM)).isNull();
            assertThat(world.process.pinRefusal(TOP, 0, LONGTERM)).isNull();
        }
    }

    @Test
    void fewerThanNoPagesAreNoQuestion() {
        try (World world = new World()) {
            assertThatThrownBy(() -> world.process.pinRefusal(0x1_0000, -1, LONGTERM))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("cannot pin -1 pages");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {LONGTERM | GupFlags.PCI_P2PDMA, GupFlags.GET, GupFlags.NOFAULT, LONG_WRITE | GupFlags.NOFAULT})
    void flagsThatForeseeNothingAreNoQuestion(int flags) {
        // GUP-1
        try (World world = new World()) {
            assertThatThrownBy(() -> world.process.pinRefusal(0x1_0000, 1, flags))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("nothing can be foreseen of gup flags 0x%x: contradictory, or NOFAULT", flags);
        }
    }

    @Test
    void refusalNamesCauseAddressAndError() {
        assertThat(new PinRefusal(0x7f00_0000_3000L, Cause.FSDAX)).hasToString("FSDAX at 0x7f0000003000 (EOPNOTSUPP)");
    }

    // ---- the end of the address space

    @Test
    void pagesAboveTheTasksSpaceAreRefusedWithTheBatchThatReachesThere() {
        // GUP-3, UMEM-15: 512 pages at a time
        try (World world = new World()) {
            long address = TOP - 600 * PAGE;
            assertThat(world.process.mmap(address, 600 * PAGE, RW, FIXED, null, 0))
                    .isEqualTo(address);

            assertPasses(world, address, 600, LONGTERM);
            assertThat(world.process.pinRefusal(address, 601, LONGTERM))
                    .isEqualTo(new PinRefusal(address + 512 * PAGE, Cause.ABOVE_TASK_SIZE));
            assertPasses(world, address, 512, LONGTERM);
            assertThat(world.pin(address + 512 * PAGE, 89, LONGTERM)).isEqualTo(-Cause.ABOVE_TASK_SIZE.errno());
            assertStops(world, TOP - 5 * PAGE, 10, LONGTERM, TOP - 5 * PAGE, Cause.ABOVE_TASK_SIZE);
        }
    }

    @Test
    void addressesThatNoProcessHasAreAboveTheTasksSpace() {
        try (World world = new World()) {
            assertStops(world, TOP, 1, LONGTERM, TOP, Cause.ABOVE_TASK_SIZE);
            assertStops(world, -2 * PAGE, 1, LONGTERM, -2 * PAGE, Cause.ABOVE_TASK_SIZE);
        }
    }

    @Test
    void holeBelowTheEndOfTheTasksSpaceIsFoundFirst() {
        try (World world = new World()) {
            long address = TOP - 600 * PAGE;
            world.process.mmap(address, 3 * PAGE, RW, FIXED, null, 0);
            assertThat(world.process.pinRefusal(address, 601, LONGTERM))
                    .isEqualTo(new PinRefusal(address + 3 * PAGE, Cause.NOT_MAPPED));
        }
    }

    // ---- ranges

    @Test
    void holeIsRefusedAtItsFirstPage() {
        try (World world = new World()) {
            long address = world.touched(6);
            world.process.mprotect(address + PAGE, PAGE, Mmap.PROT_READ | Mmap.PROT_WRITE | Mmap.PROT_EXEC);
            world.process.munmap(address + 3 * PAGE, 2 * PAGE);

            assertStops(world, address + 7, 6, LONG_WRITE, address + 3 * PAGE, Cause.NOT_MAPPED);
            assertStops(world, address + 4 * PAGE, 2, LONG_WRITE, address + 4 * PAGE, Cause.NOT_MAPPED);
            assertPasses(world, address, 3, LONG_WRITE);
        }
    }

    @Test
    void memoryOfADeviceHasNoPages() {
        // GUP-8.1
        try (World world = new World()) {
            long address = world.process.mmapDevice(0, 0x100, 2 * PAGE, RW);
            assertStops(world, address, 2, LONGTERM, address, Cause.DEVICE_MEMORY);
            world.process.putLong(address, 1);
            assertStops(world, address, 2, LONGTERM, address, Cause.DEVICE_MEMORY);
        }
    }

    @Test
    void anonymousMemoryAloneIsAskedFor() {
        // GUP-8.2
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            long address = world.map(file.forWriting(), 1, RW, SHARED);
            assertStops(world, address, 1, LONGTERM | GupFlags.ANON, address, Cause.NOT_ANONYMOUS);
            assertPasses(world, world.untouched(1), 1, LONGTERM | GupFlags.ANON);
        }
    }

    @Test
    void fileInPersistentMemoryIsNotForLong() {
        // GUP-8.3
        try (World world = new World();
                UserFile file = world.file(FileKind.FSDAX, 1)) {
            long address = world.map(file.forWriting(), 1, RW, SHARED);
            assertStops(world, address, 1, LONGTERM, address, Cause.FSDAX);
            world.process.putLong(address, 1);
            assertStops(world, address, 1, LONG_WRITE, address, Cause.FSDAX);
            assertPasses(world, address, 1, GupFlags.WRITE);
        }
    }

    @Test
    void secretMemoryIsRefusedTouchedOrNot() {
        // GUP-8.4, GUP-5
        try (World world = new World();
                UserFile file = world.file(FileKind.SECRETMEM, 2)) {
            long address = world.map(file.forWriting(), 2, RW, SHARED);
            assertStops(world, address, 2, LONGTERM, address, Cause.SECRETMEM);
            world.process.putLong(address, 1);
            world.countFromHere();
            assertThat(world.process.pinRefusal(address, 2, LONGTERM))
                    .isEqualTo(new PinRefusal(address, Cause.SECRETMEM));
            world.assertCounted(0, 0);
        }
    }

    @Test
    void fileThatHearsOfWritesIsNotWrittenForLong() {
        // GUP-8.5a
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 2)) {
            long address = world.map(file.forWriting(), 2, RW, SHARED);
            assertStops(world, address, 2, LONG_WRITE, address, Cause.TRACKED_FILE);
            world.process.putLong(address, 1);
            assertStops(world, address, 2, LONG_WRITE, address, Cause.TRACKED_FILE);
            assertPasses(world, address, 2, LONGTERM);
            assertPasses(world, address, 2, GupFlags.WRITE);
        }
    }

    @Test
    void rightToWriteIsNeeded() {
        // GUP-8.5b
        try (World world = new World()) {
            long address = world.touched(2);
            world.process.mprotect(address, 2 * PAGE, R);
            assertStops(world, address, 2, LONG_WRITE, address, Cause.NOT_WRITABLE);
            assertPasses(world, address, 2, LONGTERM);
        }
    }

    @Test
    @DisplayName(
            "GUP-4, GUP-8.6: what was touched is taken without the right to read, up to the first page that was not")
    void rightToReadIsNeededWhereTheFastPhaseEnds() {
        try (World world = new World()) {
            long above = world.touched(1);
            long address = world.process.mmap(0, 4 * PAGE, W, PRIVATE, null, 0);
            assertThat(address + 4 * PAGE).isEqualTo(above);
            assertStops(world, address, 4, LONGTERM, address, Cause.NOT_READABLE);
            for (int i = 0; i < 4; i++) {
                if (i != 2) {
                    world.process.putLong(address + i * PAGE, 1);
                }
            }
            assertStops(world, address, 5, LONGTERM, address + 2 * PAGE, Cause.NOT_READABLE);
            assertPasses(world, address, 2, LONGTERM);
            assertPasses(world, address + 3 * PAGE, 2, LONGTERM);
        }
    }

    @Test
    void protectionKeyDeniesBothPhases() {
        // GUP-8.7
        try (World world = new World()) {
            long address = world.touched(2);
            world.process.pkeyMprotect(address + PAGE, PAGE, RW, 4);
            world.process.setPkru(2 << 8);
            assertStops(world, address, 2, LONG_WRITE, address + PAGE, Cause.PROTECTION_KEY);
            assertPasses(world, address, 2, LONGTERM);
        }
    }

    @Test
    void killedProcessGetsWhatIsThereAndNothingElse() {
        // GUP-16
        try (World world = new World()) {
            long address = world.touched(4);
            world.process.madvise(address + 2 * PAGE, PAGE, Mmap.MADV_DONTNEED);
            world.process.kill();
            assertStops(world, address, 4, LONG_WRITE, address + 2 * PAGE, Cause.KILLED);
            assertPasses(world, address, 2, LONG_WRITE);
            world.process.munmap(address + 2 * PAGE, PAGE);
            assertStops(world, address, 4, LONG_WRITE, address + 2 * PAGE, Cause.NOT_MAPPED);
        }
    }

    @Test
    void killedProcessGetsNoPageThatHasToMoveOrToBecomeItsOwn() {
        // GUP-5, GUP-16
        try (World world = new World()) {
            long address = world.touched(2);
            world.process.kill();
            world.memory.markIsolated(world.process.pfnOf(address));
            assertStops(world, address, 1, LONG_WRITE, address, Cause.KILLED);
            assertPasses(world, address, 1, GupFlags.WRITE);
            Process child = World.child(world.process);
            assertThat(child.pfnOf(address + PAGE)).isEqualTo(world.process.pfnOf(address + PAGE));
            assertStops(world, address + PAGE, 1, LONGTERM, address + PAGE, Cause.KILLED);
        }
    }

    // ---- pages of files

    @Test
    void pagesBehindTheEndOfAFileAreMissing() {
        // MM-11
        try (World world = new World();
                UserFile file = UserFile.create(world.machine, FileKind.SHMEM, "short", 2 * PAGE + 1)) {
            long address = world.map(file.forWriting(), 6, RW, SHARED);
            world.process.putLong(address + PAGE, 1);

            assertStops(world, address, 6, LONG_WRITE, address + 3 * PAGE, Cause.NO_PAGE);
            assertStops(world, address + 5 * PAGE, 1, LONG_WRITE, address + 5 * PAGE, Cause.NO_PAGE);
            assertPasses(world, address, 3, LONG_WRITE);
            assertPasses(world, address + 2 * PAGE, 1, LONG_WRITE);
        }
    }

    @Test
    void endOfAFileIsFoundInAMappingThatBeginsBehindItsStart() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 5)) {
            long address = world.process.mmap(0, 6 * PAGE, RW, SHARED, file.forWriting(), 2 * PAGE);

            assertThat(world.process.pinRefusal(address, 3, LONG_WRITE)).isNull();
            assertThat(world.process.pinRefusal(address + 4 * PAGE, 2, LONG_WRITE))
                    .isEqualTo(new PinRefusal(address + 4 * PAGE, Cause.NO_PAGE));
            assertStops(world, address + PAGE, 5, LONG_WRITE, address + 3 * PAGE, Cause.NO_PAGE);
        }
    }

    @Test
    void pagesThatTheFileHasAreThereThoughNobodyMapsThem() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 3)) {
            long written = world.map(file.forWriting(), 3, RW, SHARED);
            for (int i = 0; i < 3; i++) {
                world.process.putLong(written + i * PAGE, 1);
            }
            assertPasses(world, world.map(file.forWriting(), 3, RW, SHARED), 3, LONG_WRITE);
        }
    }

    @Test
    void lostPagesOfAFileAreMissing() {
        // MM-11
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 8)) {
            file.poison(6);
            file.poison(4);
            file.poison(0);
            long address = world.process.mmap(0, 7 * PAGE, RW, SHARED, file.forWriting(), PAGE);

            assertThat(world.process.pinRefusal(address, 3, LONG_WRITE))
                    .as("neither the one before nor the one behind")
                    .isNull();
            assertThat(world.process.pinRefusal(address + 3 * PAGE, 4, LONG_WRITE))
                    .isEqualTo(new PinRefusal(address + 3 * PAGE, Cause.NO_PAGE));
            assertThat(world.process.pinRefusal(address + 4 * PAGE, 3, LONG_WRITE))
                    .isEqualTo(new PinRefusal(address + 5 * PAGE, Cause.NO_PAGE));
            assertPasses(world, address + 6 * PAGE, 1, LONG_WRITE);
            assertStops(world, address, 7, LONG_WRITE, address + 3 * PAGE, Cause.NO_PAGE);
        }
    }

    @Test
    void ownPageThatWasLostIsMissing() {
        // MM-11
        try (World world = new World()) {
            long address = world.touched(3);
            assertThat(world.process.madvise(address + PAGE, PAGE, Mmap.MADV_HWPOISON))
                    .isZero();
            assertStops(world, address, 3, LONG_WRITE, address + PAGE, Cause.NO_PAGE);
            assertPasses(world, address + 2 * PAGE, 1, LONG_WRITE);
        }
    }

    @Test
    void endOfAFileOfHugePagesIsThatOfItsLastHugePage() {
        try (World world = new World();
                UserFile file = UserFile.create(world.machine, FileKind.HUGETLB, "huge", 2 * HUGE)) {
            long address = world.huge(2, file.forWriting(), SHARED, 1);

            assertThat(world.process.pinRefusal(address + 5 * PAGE, 3, LONG_WRITE))
                    .isNull();
            assertThat(world.process.pinRefusal(address, 512, LONG_WRITE)).isNull();
            assertThat(world.process.pinRefusal(address + HUGE + 7 * PAGE, 3, LONG_WRITE))
                    .isEqualTo(new PinRefusal(address + HUGE + 7 * PAGE, Cause.NO_PAGE));
            assertStops(world, address + 5 * PAGE, 508, LONG_WRITE, address + HUGE, Cause.NO_PAGE);
        }
    }

    @Test
    void lostHugePageIsMissingAsAWhole() {
        try (World world = new World();
                UserFile file = UserFile.create(world.machine, FileKind.HUGETLB, "huge", 3 * HUGE)) {
            file.poison(2);
            long address = world.huge(2, file.forWriting(), SHARED, 1);

            assertThat(world.process.pinRefusal(address + 9 * PAGE, 1000, LONG_WRITE))
                    .isEqualTo(new PinRefusal(address + HUGE, Cause.NO_PAGE));
            assertStops(world, address + HUGE + 9 * PAGE, 2, LONG_WRITE, address + HUGE + 9 * PAGE, Cause.NO_PAGE);
        }
    }

    // ---- pages of devices

    private static long peerMemory(World world) {
        world.machine
                .devicePages()
                .add(PhysRange.ofSize(0xf000_0000L, 3 * PAGE), DevicePageMap.pciP2pDma("bar", "nvme", 0));
        return world.process.mmapDevicePages(0, 0xf_0000, 3 * PAGE, RW);
    }

    @Test
    void memoryOfAPeerIsForThoseAloneWhoAskForIt() {
        // GUP-15
        try (World world = new World()) {
            long address = peerMemory(world);
            assertStops(world, address, 3, LONG_WRITE, address, Cause.PEER_MEMORY);
            assertStops(world, address + PAGE, 1, 0, address + PAGE, Cause.PEER_MEMORY);
            assertPasses(world, address, 3, GupFlags.WRITE | GupFlags.PCI_P2PDMA);
        }
    }

    @Test
    void pageOfADeviceThatWasDroppedDoesNotComeBack() {
        // MM-11: nothing is behind it
        try (World world = new World()) {
            long address = peerMemory(world);
            int flags = GupFlags.WRITE | GupFlags.PCI_P2PDMA;
            assertThat(world.process.madvise(address + PAGE, PAGE, Mmap.MADV_DONTNEED))
                    .isZero();
            assertStops(world, address, 3, flags, address + PAGE, Cause.NO_PAGE);
            assertPasses(world, address + 2 * PAGE, 1, flags);
        }
    }
}
