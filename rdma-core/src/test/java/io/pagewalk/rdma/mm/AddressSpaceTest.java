package io.pagewalk.rdma.mm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Accounts and lifetime of an address space (rdma:MM-1, MM-18)")
class AddressSpaceTest {

    @Test
    void chargesAddUpAndMayGoBelowZero() {
        try (World world = new World()) {
            AddressSpace space = world.process.addressSpace();
            assertThat(space.addPinnedVm(5)).isEqualTo(5);
            assertThat(space.addPinnedVm(5)).isEqualTo(10);
            space.subPinnedVm(11);
            assertThat(space.pinnedVm()).isEqualTo(-1);
        }
    }

    @Test
    void structureOutlivesTheMemory() {
        try (World world = new World()) {
            AddressSpace space = world.process.addressSpace();
            world.touched(3);
            space.grab();
            space.addPinnedVm(3);
            assertThat(space.structureReferences()).isEqualTo(2);
            world.process.exit();
            assertThat(world.process.hasExited()).isTrue();
            assertThat(world.machine.pages().allocatedPages()).isZero();
            assertThat(space.users()).isZero();
            assertThat(space.getUser()).isFalse();
            assertThat(space.structureReferences()).isEqualTo(1);
            space.subPinnedVm(3);
            assertThat(space.pinnedVm()).isZero();
            space.drop();
            assertThatThrownBy(space::drop).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(space::grab).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(space::putUser).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void anotherUserKeepsTheMemoryOfAProcessThatExits() {
        try (World world = new World()) {
            AddressSpace space = world.process.addressSpace();
            world.touched(3);
            assertThat(space.getUser()).isTrue();
            world.process.exit();
            world.process.exit();
            assertThat(world.machine.pages().allocatedPages()).isEqualTo(3);
            assertThat(space.users()).isEqualTo(1);
            space.putUser();
            assertThat(world.machine.pages().allocatedPages()).isZero();
        }
    }

    @Test
    void processThatExitedCanDoNothing() {
        try (World world = new World()) {
            world.process.exit();
            assertThatThrownBy(() -> world.process.mmap(4096))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("process 1000 has exited");
            assertThat(world.process).hasToString("process 1000 (exited)");
        }
    }

    @Test
    void lockedPagesAreCountedApartFromPinnedOnes() {
        try (World world = new World()) {
            Process process = world.process;
            long address = world.untouched(4);
            assertThat(process.mlock(address + 1, 4096)).isZero();
            assertThat(process.addressSpace().lockedVm()).isEqualTo(2);
            assertThat(process.pfnOf(address + 4096)).isPositive();
            assertThat(process.pfnOf(address + 2 * 4096)).isEqualTo(-1);
            long[] pfns = world.pinned(address, 4, World.LONG_WRITE);
            assertThat(process.addressSpace().lockedVm()).isEqualTo(2);
            assertThat(process.addressSpace().pinnedVm()).isZero();
            assertThat(process.mlock(address, 4 * 4096)).isZero();
            assertThat(process.addressSpace().lockedVm()).isEqualTo(4);
            assertThat(process.munlock(address, 4096)).isZero();
            assertThat(process.addressSpace().lockedVm()).isEqualTo(3);
            assertThat(process.munmap(address, 4 * 4096)).isZero();
            assertThat(process.addressSpace().lockedVm()).isZero();
            world.unpin(pfns);
            world.assertAllFree();
        }
    }

    @Test
    void mlockObeysLimitAndCapability() {
        try (World world = new World()) {
            Process process = world.process;
            long address = world.untouched(4);
            process.setMemlockLimit(0);
            assertThat(process.mlock(address, 4096)).isEqualTo(-Errno.EPERM);
            process.setMemlockLimit(2 * 4096);
            assertThat(process.mlock(address, 3 * 4096)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.addressSpace().lockedVm()).isZero();
            assertThat(process.mlock(address, 2 * 4096)).isZero();
            assertThat(process.mlock(address, 2 * 4096)).isZero();
            assertThat(process.mlock(address + 2 * 4096, 4096)).isEqualTo(-Errno.ENOMEM);
            int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_LOCKED;
            assertThat(process.mmap(0, 4096, World.RW, flags, null, 0)).isEqualTo(-Errno.EAGAIN);
            process.setCapIpcLock(true);
            long locked = process.mmap(0, 4096, World.RW, flags, null, 0);
            assertThat(process.pfnOf(locked)).isPositive();
            assertThat(process.addressSpace().lockedVm()).isEqualTo(3);
            process.setCapIpcLock(false);
            process.setMemlockLimit(0);
            assertThat(process.mmap(0, 4096, World.RW, flags, null, 0)).isEqualTo(-Errno.EPERM);
        }
    }

    @Test
    void mlockOfAHoleOrOfForbiddenMemoryFails() {
        try (World world = new World()) {
            Process process = world.process;
            long address = world.untouched(3);
            process.munmap(address + 4096, 4096);
            assertThat(process.mlock(address, 3 * 4096)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.mprotect(address, 4096, Mmap.PROT_NONE)).isZero();
            assertThat(process.mlock(address, 4096)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.mlock(Mapper.TASK_SIZE, 4096)).isEqualTo(-Errno.ENOMEM);
            assertThat(process.mlock(0x1000, -0x1800)).isEqualTo(-Errno.EINVAL);
            assertThat(process.munlock(0x1000, -0x1800)).isEqualTo(-Errno.EINVAL);
            assertThat(process.munlock(Mapper.TASK_SIZE, 4096)).isEqualTo(-Errno.ENOMEM);
        }
    }
}
