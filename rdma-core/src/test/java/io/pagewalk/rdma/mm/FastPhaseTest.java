package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A killed process shows it: the slow phase gives it nothing (rdma:GUP-16). */
@DisplayName("What the fast phase takes by itself (rdma:GUP-4 to GUP-6, GUP-13, GUP-19)")
class FastPhaseTest {
    private static final int FIXED = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED;

    @Test
    void pagesUpToAMissingTableAreKept() {
        // GUP-4, GUP-6
        try (World world = new World()) {
            long address = 0x4020_0000L - 2 * PAGE;
            world.process.mmap(address, 4 * PAGE, RW, FIXED, null, 0);
            world.process.putLong(address, 1);
            world.process.putLong(address + PAGE, 2);
            world.countFromHere();
            long[] pfns = world.pinned(address, 4, LONG_WRITE);
            world.assertCounted(4, 0);
            assertThat(world.frames.refCount(pfns[0])).isEqualTo(1025);
            assertThat(pfns[1]).isEqualTo(world.process.pfnOf(address + PAGE));
        }
    }

    @Test
    void slowPhaseIsAskedForTheRestAlone() {
        // GUP-6
        try (World world = new World()) {
            long address = world.untouched(4);
            world.process.putLong(address, 1);
            long[] pfns = new long[4];
            assertThat(world.process.pinUserPagesFast(address, 2, LONG_WRITE, pfns))
                    .isEqualTo(2);
            assertThat(pfns).containsExactly(world.process.pfnOf(address), world.process.pfnOf(address + PAGE), 0, 0);
            assertThat(world.process.pfnOf(address + 2 * PAGE)).isEqualTo(-1);
        }
    }

    @Test
    void pageOfADaxFileIsTakenForAShortTime() {
        // GUP-5
        try (World world = new World();
                UserFile file = world.file(FileKind.DEVICE_DAX, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            world.process.putLong(address, 1);
            world.process.kill();
            assertThat(world.pin(address, 1, GupFlags.WRITE)).isEqualTo(1);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EINTR);
            world.assertCounted(1, 0);
        }
    }

    @Test
    void pageThatHasToMoveIsTakenForAShortTime() {
        // GUP-13
        try (World world = new World()) {
            long address = world.touched(1);
            world.memory.markIsolated(world.process.pfnOf(address));
            world.process.kill();
            assertThat(world.pin(address, 1, GupFlags.WRITE)).isEqualTo(1);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.EINTR);
            world.assertCounted(1, 0);
        }
    }

    @Test
    void readOnlyFilePageIsTakenForAShortTime() {
        // GUP-10, GUP-19
        try (World world = new World();
                UserFile file = world.file(FileKind.REGULAR, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            world.process.getLong(address);
            world.process.kill();
            assertThat(world.pin(address, 1, 0)).isEqualTo(1);
            world.assertCounted(1, 0);
            assertThat(world.pin(address, 1, LONGTERM)).isEqualTo(-Errno.EINTR);
            world.assertCounted(2, 1);
        }
    }

    @Test
    void olderKernelTakesPagesThatAChildShares() {
        // GUP-10 came later
        try (World world = new World(KernelModel.LINUX_5)) {
            long address = world.touched(1);
            Process child = World.child(world.process);
            world.process.kill();
            assertThat(world.pinned(address, 1, LONGTERM)).containsExactly(child.pfnOf(address));
            world.assertCounted(1, 0);
        }
    }

    @Test
    void hugePageWithoutRoomForAReferenceIsRefused() {
        // MM-15
        try (World world = new World()) {
            long address = world.touchedHuge();
            long head = world.process.pfnOf(address);
            world.frames.get(head, Integer.MAX_VALUE - 2);
            assertThat(world.pin(address + PAGE, 2, LONG_WRITE)).isEqualTo(1);
            assertThat(world.pin(address, 1, LONG_WRITE)).isEqualTo(-Errno.ENOMEM);
            assertThat(world.frames.pinCount(head)).isEqualTo(1);
            assertThat(world.frames.refCount(head)).isEqualTo(Integer.MAX_VALUE);
            world.assertCounted(1, 0);
        }
    }
}
