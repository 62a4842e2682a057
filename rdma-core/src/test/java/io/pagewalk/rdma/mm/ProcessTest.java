package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.R;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@DisplayName("A process that ends (rdma:MM-1, MM-12)")
class ProcessTest {
    private static final long AT = 0x4000_0000L;

    private static Arguments call(String name, Consumer<Process> call) {
        return Arguments.of(name, call);
    }

    static Stream<Arguments> callsThatNeedItsMemory() {
        return Stream.of(
                call("fork", Process::fork),
                call("mmap", p -> p.mmap(PAGE)),
                call("munmap", p -> p.munmap(AT, PAGE)),
                call("mmapDevice", p -> p.mmapDevice(0, 0x100, PAGE, RW)),
                call("mmapDevicePages", p -> p.mmapDevicePages(0, 0x100, PAGE, RW)),
                call("mprotect", p -> p.mprotect(AT, PAGE, R)),
                call("pkeyMprotect", p -> p.pkeyMprotect(AT, PAGE, R, 1)),
                call("madvise", p -> p.madvise(AT, PAGE, Mmap.MADV_DONTNEED)),
                call("mlock", p -> p.mlock(AT, PAGE)),
                call("munlock", p -> p.munlock(AT, PAGE)),
                call("pinUserPagesFast", p -> p.pinUserPagesFast(AT, 1, LONGTERM, new long[1])),
                call("pinRefusal", p -> p.pinRefusal(AT, 1, LONGTERM)),
                call("read", p -> p.read(AT, new byte[1], 0, 1)),
                call("write", p -> p.write(AT, new byte[1], 0, 1)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("callsThatNeedItsMemory")
    void callOfAProcessThatExitedIsRefused(String name, Consumer<Process> call) {
        try (World world = new World()) {
            world.process.exit();
            assertThatThrownBy(() -> call.accept(world.process))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("process 1000 has exited");
            assertThat(world.process.addressSpace().hasPinned()).isFalse();
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("callsThatNeedItsMemory")
    void callOfAProcessWhoseLastUserWasDroppedIsRefused(String name, Consumer<Process> call) {
        try (World world = new World()) {
            world.process.addressSpace().putUser();
            assertThatThrownBy(() -> call.accept(world.process))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("process 1000 has no memory any more: its last user was dropped");
        }
    }

    @Test
    void processWhoseLastUserWasDroppedExitsAllTheSame() {
        try (World world = new World()) {
            world.touched(2);
            List<String> done = new ArrayList<>();
            world.process.onExit(() -> done.add("closed"));
            world.process.addressSpace().putUser();
            assertThat(world.machine.pages().allocatedPages()).isZero();
            assertThat(world.process.hasExited()).isFalse();

            world.process.exit();

            assertThat(world.process.hasExited()).isTrue();
            assertThat(world.process.addressSpace().users()).isZero();
            assertThat(done).containsExactly("closed");
        }
    }

    @Test
    void filesAreClosedOnceInTheirOrderWhenTheMemoryIsGone() {
        try (World world = new World()) {
            world.touched(2);
            List<String> done = new ArrayList<>();
            world.process.onExit(
                    () -> done.add("first, of pages " + world.machine.pages().allocatedPages()));
            world.process.onExit(() -> done.add("second, exited " + world.process.hasExited()));

            world.process.exit();
            world.process.exit();

            assertThat(done).containsExactly("first, of pages 0", "second, exited true");
            assertThatThrownBy(() -> world.process.onExit(() -> done.add("late")))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("process 1000 has exited");
        }
    }

    @Test
    void fileOfAnotherMachineIsNotMapped() {
        try (World world = new World();
                World other = new World();
                UserFile file = other.file(FileKind.SHMEM, 1)) {
            assertThatThrownBy(() -> world.process.mmap(0, PAGE, RW, Mmap.MAP_SHARED, file.forWriting(), 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("process 1000 cannot map SHMEM file of another machine");
            assertThat(world.process.addressSpace().vmas().all()).isEmpty();
        }
    }

    @Test
    void numbersOfProcessesFollowEachOther() {
        try (World world = new World()) {
            assertThat(World.child(world.process).pid()).isEqualTo(1001);
            assertThat(Process.create(world.machine).pid()).isEqualTo(1002);
            assertThat(world.process).hasToString("process 1000");
        }
    }
}
