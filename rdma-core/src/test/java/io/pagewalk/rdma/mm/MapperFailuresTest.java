package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.HUGE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.R;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.PhysRange;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@DisplayName("Ranges: their bounds, and calls that run out of memory (rdma:MM-4, MM-5, MM-11, MM-12, CONV-6)")
class MapperFailuresTest {
    private static final int PRIVATE = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS;
    private static final int FIXED = PRIVATE | Mmap.MAP_FIXED;
    private static final long TOP = Mapper.TASK_SIZE;
    private static final long BASE = 0x7fff_f7ff_f000L;
    private static final long LOWEST = 0x1_0000;
    private static final long FRAMES = 1L << 40;
    private static final long BAR = 0xf_0000;

    private static int ranges(World world) {
        return world.process.addressSpace().vmas().all().size();
    }

    // ---- places

    @Test
    void hintIsTakenFromTheLowestToTheHighestPlace() {
        try (World world = new World()) {
            Process process = world.process;
            assertThat(process.mmap(LOWEST, PAGE, RW, PRIVATE, null, 0)).isEqualTo(LOWEST);
            assertThat(process.mmap(LOWEST - PAGE, PAGE, RW, PRIVATE, null, 0)).isEqualTo(BASE - PAGE);
            assertThat(process.mmap(TOP - PAGE, PAGE, RW, PRIVATE, null, 0)).isEqualTo(TOP - PAGE);
            assertThat(process.mmap(TOP - 2 * PAGE, 2 * PAGE, RW, PRIVATE, null, 0))
                    .isEqualTo(BASE - 3 * PAGE);
            assertThat(process.mmap(TOP - 3 * PAGE, 2 * PAGE, RW, PRIVATE, null, 0))
                    .isEqualTo(TOP - 3 * PAGE);
            assertThat(process.mmap(TOP, PAGE, RW, PRIVATE, null, 0)).isEqualTo(BASE - 4 * PAGE);
        }
    }

    @Test
    void rangeFillsAllThereIsButNoPageMore() {
        try (World world = new World()) {
            assertThat(world.process.mmap(BASE - LOWEST + 1)).isEqualTo(-Errno.ENOMEM);
            assertThat(world.process.mmap(BASE - LOWEST)).isEqualTo(LOWEST);
            assertThat(world.process.mmap(PAGE)).isEqualTo(-Errno.ENOMEM);
        }
    }

    @Test
    void sharedMemoryWithoutAFileIsAFileToTheKernel() {
        // MM-4
        try (World world = new World()) {
            int shared = Mmap.MAP_SHARED | Mmap.MAP_ANONYMOUS;
            VmaMap vmas = world.process.addressSpace().vmas();
            long small = world.process.mmap(0, PAGE, RW, shared, null, 0);
            assertThat(Objects.requireNonNull(vmas.find(small)).file).hasToString("SHMEM dev/zero");
            long huge = world.process.mmap(0, PAGE, RW, PRIVATE | Mmap.MAP_HUGETLB, null, 0);
            assertThat(Objects.requireNonNull(vmas.find(huge)).file).hasToString("HUGETLB anon_hugepage");
        }
    }

    @Test
    void hugePagesOfAFileBeginWithOneOfItsHugePages() {
        try (World world = new World();
                UserFile file = UserFile.create(world.machine, FileKind.HUGETLB, "huge", 2 * HUGE)) {
            assertThat(world.process.mmap(0, HUGE, RW, Mmap.MAP_SHARED, file.forWriting(), PAGE))
                    .isEqualTo(-Errno.EINVAL);
            assertThat(world.process.mmap(0, HUGE + PAGE, RW, Mmap.MAP_SHARED, file.forWriting(), 0))
                    .isEqualTo(-Errno.EINVAL);
            assertThat(ranges(world)).isZero();
        }
    }

    // ---- no memory for a range

    @Test
    void mappingWithoutMemoryForItsRangeLeavesWhatWasThere() {
        // CONV-6
        try (World world = new World()) {
            long address = world.touched(3);
            world.machine.failures().failNth("mm.vma", 1);
            assertThat(world.process.mmap(PAGE)).isEqualTo(-Errno.ENOMEM);
            for (int nth = 1; nth <= 3; nth++) {
                world.machine.failures().failNth("mm.vma", nth);
                assertThat(world.process.mmap(address + PAGE, PAGE, RW, FIXED, null, 0))
                        .isEqualTo(-Errno.ENOMEM);
                assertThat(world.process.getLong(address + PAGE)).isEqualTo(2);
            }
            assertThat(world.process.mmap(address + PAGE, PAGE, RW, FIXED, null, 0))
                    .isEqualTo(address + PAGE);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void callThatCannotSplitARangeChangesNothing(int nth) {
        // CONV-6
        try (World world = new World()) {
            Process process = world.process;
            long address = world.touched(3);
            long middle = address + PAGE;
            world.machine.failures().failNth("mm.vma", nth);
            assertThat(process.munmap(middle, PAGE)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.getLong(middle)).isEqualTo(2);
        }
        try (World world = new World()) {
            Process process = world.process;
            long middle = world.touched(3) + PAGE;
            world.machine.failures().failNth("mm.vma", nth);
            assertThat(process.mprotect(middle, PAGE, R)).isEqualTo(-Errno.ENOMEM);
            process.putLong(middle, 22);
        }
        try (World world = new World()) {
            Process process = world.process;
            long middle = world.touched(3) + PAGE;
            world.machine.failures().failNth("mm.vma", nth);
            assertThat(process.madvise(middle, PAGE, Mmap.MADV_DONTFORK)).isEqualTo(-Errno.EAGAIN);
            assertThat(World.child(process).getLong(middle)).isEqualTo(2);
        }
        try (World world = new World()) {
            Process process = world.process;
            long middle = world.untouched(3) + PAGE;
            world.machine.failures().failNth("mm.vma", nth);
            assertThat(process.mlock(middle, PAGE)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.addressSpace().lockedVm()).isZero();
            assertThat(process.pfnOf(middle)).isEqualTo(-1);
        }
        try (World world = new World()) {
            Process process = world.process;
            long address = world.untouched(3);
            process.mlock(address, 3 * PAGE);
            world.machine.failures().failNth("mm.vma", nth);
            assertThat(process.munlock(address + PAGE, PAGE)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.addressSpace().lockedVm()).isEqualTo(3);
        }
    }

    @Test
    void callThatWouldCutAHugePageIsRefused() {
        try (World world = new World()) {
            Process process = world.process;
            long address = world.touchedHuge();
            assertThat(process.mmap(address + PAGE, PAGE, RW, FIXED, null, 0)).isEqualTo(-Errno.EINVAL);
            assertThat(process.madvise(address + PAGE, PAGE, Mmap.MADV_DONTFORK))
                    .isEqualTo(-Errno.EINVAL);
            assertThat(process.madvise(address, PAGE, Mmap.MADV_HWPOISON)).isEqualTo(-Errno.EINVAL);
            assertThat(process.getLong(address)).isEqualTo(1);
            assertThat(ranges(world)).isEqualTo(1);
        }
    }

    // ---- frames of devices

    private static void addDevicePages(World world, int pages) {
        world.machine
                .devicePages()
                .add(PhysRange.ofSize(BAR * PAGE, pages * PAGE), DevicePageMap.pciP2pDma("bar", "nvme", 0));
    }

    @Test
    void framesUpToTheLastOneAreMapped() {
        try (World world = new World()) {
            Process process = world.process;
            long last = process.mmapDevice(0, FRAMES - 1, 1, RW);
            assertThat(last).isEqualTo(BASE - PAGE);
            assertThat(process.getLong(last)).isEqualTo(-1);
            assertThat(process.pfnOf(last)).isEqualTo(FRAMES - 1);
            assertThat(process.mmapDevice(0, FRAMES - 1, PAGE + 1, RW)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mmapDevice(0, FRAMES, PAGE, RW)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mmapDevice(0, -1, PAGE, RW)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mmapDevice(0, 0x100, 0, RW)).isEqualTo(-Errno.EINVAL);
            assertThat(process.mmapDevice(0, 0x100, TOP + PAGE, RW)).isEqualTo(-Errno.ENOMEM);
            world.machine.failures().failNth("mm.vma", 1);
            assertThat(process.mmapDevice(0, 0x100, PAGE, RW)).isEqualTo(-Errno.ENOMEM);
            assertThat(ranges(world)).isEqualTo(1);
        }
    }

    @Test
    void pagesOfADeviceAreMappedOneByOneUpToTheEndOfTheRange() {
        // GUP-15
        try (World world = new World()) {
            addDevicePages(world, 3);
            long address = world.process.mmapDevicePages(0, BAR, 2 * PAGE, RW);
            assertThat(world.process.pfnOf(address)).isEqualTo(BAR);
            assertThat(world.process.pfnOf(address + PAGE)).isEqualTo(BAR + 1);
            assertThat(world.process.pfnOf(address + 2 * PAGE)).isEqualTo(-1);
            assertThat(world.frames.refCount(BAR + 1)).isEqualTo(1);
            assertThat(world.frames.refCount(BAR + 2)).isZero();
            assertThat(world.memory.folios().mapCount(BAR + 1)).isEqualTo(1);
            assertThat(world.process.mmapDevicePages(0, BAR + 1, 2 * PAGE, RW)).isEqualTo(address - 2 * PAGE);
            world.process.exit();
            assertThat(world.memory.folios().mapCount(BAR + 1)).isZero();
            assertThat(world.frames.refCount(BAR + 1)).isZero();
        }
    }

    @Test
    void whatIsNoPageOfADeviceIsNotMappedAsOne() {
        try (World world = new World()) {
            addDevicePages(world, 2);
            assertThat(world.process.mmapDevicePages(0, BAR, 3 * PAGE, RW)).isEqualTo(-Errno.EINVAL);
            assertThat(world.process.mmapDevicePages(0, BAR - 1, 2 * PAGE, RW)).isEqualTo(-Errno.EINVAL);
            assertThat(ranges(world)).isZero();
            assertThat(world.frames.refCount(BAR)).isZero();
            assertThat(world.process.mmapDevicePages(0, BAR, 2 * PAGE, RW)).isEqualTo(BASE - 2 * PAGE);
        }
    }

    @Test
    void mappingOfPagesThatComesToAnEndHalfwayLeavesNothing() {
        // CONV-6
        try (World world = new World()) {
            addDevicePages(world, 2);
            world.frames.get(BAR + 1, Integer.MAX_VALUE);
            assertThat(world.process.mmapDevicePages(0, BAR, 2 * PAGE, RW)).isEqualTo(-Errno.ENOMEM);
            assertThat(ranges(world)).isZero();
            assertThat(world.frames.refCount(BAR)).isZero();
            assertThat(world.process.pfnOf(BASE - 2 * PAGE)).isEqualTo(-1);
            world.frames.put(BAR + 1, Integer.MAX_VALUE);
            long apart = 1L << 40;
            world.machine.failures().failNth("mm.table", 1);
            assertThat(world.process.mmapDevicePages(apart, BAR, 2 * PAGE, RW)).isEqualTo(-Errno.ENOMEM);
            assertThat(ranges(world)).isZero();
            assertThat(world.process.mmapDevicePages(apart, BAR, 2 * PAGE, RW)).isEqualTo(apart);
        }
    }

    // ---- advice

    @Test
    void adviceBeyondTheTasksSpaceIsNonsense() {
        try (World world = new World()) {
            world.process.mmap(TOP - PAGE, PAGE, RW, FIXED, null, 0);
            assertThat(world.process.madvise(TOP - PAGE, 2 * PAGE, Mmap.MADV_DONTNEED))
                    .isEqualTo(-Errno.EINVAL);
            assertThat(world.process.madvise(TOP - PAGE, PAGE, Mmap.MADV_DONTNEED))
                    .isZero();
            assertThat(world.process.madvise(TOP, 0, Mmap.MADV_DONTNEED)).isZero();
        }
    }

    @Test
    void pageThatIsLostIsLostAlone() {
        // MM-11
        try (World world = new World()) {
            long address = world.touched(3);
            assertThat(world.process.madvise(address + PAGE, PAGE, Mmap.MADV_HWPOISON))
                    .isZero();
            assertThat(world.process.read(address + PAGE, new byte[1], 0, 1)).isEqualTo(Fault.HWPOISON);
            assertThat(world.process.write(address + PAGE, new byte[1], 0, 1)).isEqualTo(Fault.HWPOISON);
            assertThat(world.process.getLong(address)).isEqualTo(1);
            assertThat(world.process.getLong(address + 2 * PAGE)).isEqualTo(3);
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(2);
            long device = world.process.mmapDevice(0, 0x100, PAGE, RW);
            assertThat(world.process.madvise(device, PAGE, Mmap.MADV_HWPOISON)).isEqualTo(-Errno.EINVAL);
        }
    }

    @Test
    void pageThatWasNeverTouchedIsLostTooIfThereIsMemoryForItsTable() {
        // CONV-6
        try (World world = new World()) {
            long address = world.untouched(1);
            world.machine.failures().failNth("mm.table", 1);
            assertThat(world.process.madvise(address, PAGE, Mmap.MADV_HWPOISON)).isEqualTo(-Errno.EAGAIN);
            assertThat(world.process.getLong(address)).isZero();
            assertThat(world.process.madvise(address, PAGE, Mmap.MADV_HWPOISON)).isZero();
            assertThat(world.process.read(address, new byte[1], 0, 1)).isEqualTo(Fault.HWPOISON);
        }
    }
}
