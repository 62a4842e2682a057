package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.R;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.PhysRange;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Entries after mprotect, fork and mlock (rdma:MM-7, MM-8, MM-13, MM-14, MM-18, MM-19)")
class EntriesTest {
    private static final int SHARED = Mmap.MAP_SHARED;
    private static final int PRIVATE = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS;

    private static boolean has(World world, long address, long bit) {
        return Pte.has(world.pte(address), bit);
    }

    private static void forbidAndAllowWriting(World world, long address, int pages) {
        assertThat(world.process.mprotect(address, pages * PAGE, R)).isZero();
        assertThat(has(world, address, Pte.WRITE)).isFalse();
        assertThat(world.process.mprotect(address, pages * PAGE, RW)).isZero();
    }

    // ---- mprotect

    @Test
    void ownPageBecomesWritableWithoutAFaultAndOthersDoNot() {
        // MM-9
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 1)) {
            long own = world.touched(1);
            forbidAndAllowWriting(world, own, 1);
            assertThat(has(world, own, Pte.WRITE)).isTrue();

            long zeros = world.untouched(1);
            world.process.getLong(zeros);
            forbidAndAllowWriting(world, zeros, 1);
            assertThat(has(world, zeros, Pte.WRITE)).as("the zero page").isFalse();

            long cached = world.map(file.forReading(), 1, RW, Mmap.MAP_PRIVATE);
            world.process.getLong(cached);
            forbidAndAllowWriting(world, cached, 1);
            assertThat(has(world, cached, Pte.WRITE)).as("the file's page").isFalse();

            Process child = World.child(world.process);
            forbidAndAllowWriting(world, own, 1);
            assertThat(has(world, own, Pte.WRITE)).as("shared with %s", child).isFalse();
        }
    }

    @Test
    void sharedPageBecomesWritableUnlessTheFileHasToHearOfIt() {
        // MM-19, GUP-9
        try (World world = new World();
                UserFile tmpfs = world.file(FileKind.SHMEM, 1);
                UserFile tracked = world.file(FileKind.REGULAR, 2)) {
            long untracked = world.map(tmpfs.forWriting(), 1, RW, SHARED);
            world.process.getLong(untracked);
            forbidAndAllowWriting(world, untracked, 1);
            assertThat(has(world, untracked, Pte.WRITE)).isTrue();

            long address = world.map(tracked.forWriting(), 2, RW, SHARED);
            world.process.getLong(address);
            world.process.putLong(address + PAGE, 1);
            forbidAndAllowWriting(world, address, 2);
            assertThat(has(world, address, Pte.WRITE)).as("clean").isFalse();
            assertThat(has(world, address + PAGE, Pte.WRITE))
                    .as("dirty already")
                    .isTrue();
        }
    }

    @Test
    void pageThatComesLaterHasTheKeyOfItsRange() {
        // GUP-5
        try (World world = new World()) {
            long address = world.untouched(2);
            assertThat(world.process.pkeyMprotect(address, 2 * PAGE, RW, 9)).isZero();
            world.process.putLong(address, 1);
            assertThat(Pte.protectionKey(world.pte(address))).isEqualTo(9);
            assertThat(world.process.pfnOf(address)).isPositive();
            world.process.getLong(address + PAGE);
            assertThat(Pte.protectionKey(world.pte(address + PAGE))).isEqualTo(9);
            assertThat(world.process.pfnOf(address + PAGE)).isEqualTo(world.memory.zeroPfn());
        }
    }

    // ---- fork

    @Test
    void childsEntryOfAnOwnPageIsReadOnlyDirtyAndNotLookedAt() {
        // MM-13
        try (World world = new World()) {
            long address = world.touched(1);
            Process child = World.child(world.process);
            long pfn = world.process.pfnOf(address);
            assertThat(World.pte(child, address)).isEqualTo(Pte.of(pfn, 0, Pte.PRESENT | Pte.DIRTY));
            assertThat(world.pte(address)).isEqualTo(Pte.of(pfn, 0, Pte.PRESENT | Pte.DIRTY | Pte.ACCESSED));
            assertThat(world.memory.folios().mapCount(pfn)).isEqualTo(2);
        }
    }

    @Test
    void childsEntryOfADevicesPageIsWritableAndClean() {
        // MM-13
        try (World world = new World()) {
            long bar = 0xf_0000;
            world.machine
                    .devicePages()
                    .add(PhysRange.ofSize(bar * PAGE, PAGE), DevicePageMap.pciP2pDma("bar", "nvme", 0));
            long address = world.process.mmapDevicePages(0, bar, PAGE, RW);
            world.process.putLong(address, 1);
            Process child = World.child(world.process);
            assertThat(World.pte(child, address)).isEqualTo(Pte.of(bar, 0, Pte.PRESENT | Pte.WRITE));
            assertThat(world.pte(address))
                    .isEqualTo(Pte.of(bar, 0, Pte.PRESENT | Pte.WRITE | Pte.DIRTY | Pte.ACCESSED));
            assertThat(world.frames.refCount(bar)).isEqualTo(2);
            assertThat(world.memory.folios().mapCount(bar)).isEqualTo(2);
        }
    }

    @Test
    void copyThatAChildGetsOfAPinnedPageIsItsOwn() {
        // MM-14
        try (World world = new World()) {
            long address = world.touched(1);
            long pinned = world.pinned(address, 1, World.LONG_WRITE)[0];
            Process child = World.child(world.process);
            long copy = child.pfnOf(address);
            assertThat(World.pte(child, address))
                    .isEqualTo(Pte.of(copy, 0, Pte.PRESENT | Pte.WRITE | Pte.DIRTY | Pte.ACCESSED));
            assertThat(world.memory.folios().mapCount(copy)).isEqualTo(1);
            assertThat(world.memory.folios().isExclusive(copy)).isTrue();
            assertThat(has(world, address, Pte.WRITE))
                    .as("the parent keeps the right")
                    .isTrue();
            assertThat(world.memory.folios().isExclusive(pinned)).isTrue();
        }
    }

    // ---- a write after a read

    @Test
    void pageThatReplacesTheZeroPageIsZeroedWhateverItsFrameHeld() {
        // MM-8
        try (World world = new World()) {
            long first = world.touched(1);
            long dirtied = world.process.pfnOf(first);
            world.process.munmap(first, PAGE);
            long address = world.untouched(1);
            world.process.getLong(address);
            world.process.writeBytes(address + 8, new byte[] {1});
            assertThat(world.process.pfnOf(address)).isEqualTo(dirtied);
            assertThat(world.process.getLong(address)).isZero();
            assertThat(world.process.getLong(address + 8)).isEqualTo(1);
        }
    }

    // ---- mlock

    @Test
    void lockedPrivateMemoryIsTheProcesssOwnAtOnce() {
        // MM-18
        try (World world = new World()) {
            long address = world.untouched(3);
            world.process.mprotect(address, PAGE, R);
            assertThat(world.process.mlock(address, 3 * PAGE)).isZero();
            assertThat(world.process.pfnOf(address)).as("read only").isEqualTo(world.memory.zeroPfn());
            for (long at = address + PAGE; at < address + 3 * PAGE; at += PAGE) {
                assertThat(world.process.pfnOf(at)).isNotNegative().isNotEqualTo(world.memory.zeroPfn());
                assertThat(has(world, at, Pte.WRITE)).isTrue();
                assertThat(has(world, at, Pte.DIRTY)).isTrue();
            }
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(2);
        }
    }

    @Test
    void lockedSharedMemoryIsOnlyRead() {
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 2)) {
            long address = world.map(file.forWriting(), 2, RW, SHARED);
            world.process.getLong(address);
            assertThat(world.process.mlock(address, 2 * PAGE)).isZero();
            for (long at = address; at < address + 2 * PAGE; at += PAGE) {
                assertThat(has(world, at, Pte.PRESENT)).isTrue();
                assertThat(has(world, at, Pte.WRITE)).isFalse();
                assertThat(has(world, at, Pte.DIRTY)).isFalse();
                assertThat(world.frames.isDirty(world.process.pfnOf(at))).isFalse();
            }
        }
    }

    @Test
    void lockingLooksAtPagesThatAreThere() {
        // MM-7
        try (World world = new World()) {
            long address = world.touched(1);
            world.process.mprotect(address, PAGE, R);
            Process child = World.child(world.process);
            assertThat(Pte.has(World.pte(child, address), Pte.ACCESSED)).isFalse();
            assertThat(child.mlock(address, PAGE)).isZero();
            assertThat(Pte.has(World.pte(child, address), Pte.ACCESSED)).isTrue();
        }
    }

    @Test
    void pageThatCannotBeHadEndsTheLockingWithTheRangeLocked() {
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            long address = world.untouched(3);
            world.machine.failures().failNth("mm.page", 2);
            assertThat(world.process.mlock(address, 3 * PAGE)).isEqualTo(-Errno.EAGAIN);
            assertThat(world.process.pfnOf(address)).isPositive();
            assertThat(world.process.pfnOf(address + PAGE)).isEqualTo(-1);
            assertThat(world.process.pfnOf(address + 2 * PAGE)).isEqualTo(-1);
            assertThat(world.process.addressSpace().lockedVm()).isEqualTo(3);
            long behind = world.map(file.forWriting(), 2, RW, SHARED);
            assertThat(world.process.mlock(behind, 2 * PAGE)).isEqualTo(-Errno.ENOMEM);
            assertThat(world.process.addressSpace().lockedVm()).isEqualTo(5);
        }
    }

    @Test
    void lockedMappingIsMeasuredInPages() {
        // MM-2, MM-18
        try (World world = new World()) {
            world.process.setMemlockLimit(2 * PAGE);
            int locked = PRIVATE | Mmap.MAP_LOCKED;
            assertThat(world.process.mmap(0, 2 * PAGE + 1, RW, locked, null, 0)).isEqualTo(-Errno.EAGAIN);
            long address = world.process.mmap(0, PAGE + 1, RW, locked, null, 0);
            assertThat(world.process.pfnOf(address + PAGE)).isPositive();
            assertThat(world.process.addressSpace().lockedVm()).isEqualTo(2);
            assertThat(world.process.mmap(0, 1, RW, locked, null, 0)).isEqualTo(-Errno.EAGAIN);
        }
    }
}
