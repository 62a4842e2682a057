package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.PAGE;
import static io.pagewalk.rdma.mm.World.RW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

@DisplayName("Bytes of a process by virtual address (rdma:MM-7, MM-11)")
class ProcessBytesTest {
    private static final int MIB = 1 << 20;

    @Test
    void noBytesAreReadFromAnywhere() {
        try (World world = new World()) {
            assertThat(world.process.readBytes(0, 0)).isEmpty();
            assertThat(world.process.faultAddress()).isZero();
            assertThatThrownBy(() -> world.process.readBytes(0, -1))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessage("cannot read -1 bytes");
        }
    }

    @Test
    void manyBytesAreReadInTheirPlaces() {
        try (World world = new World()) {
            long address = world.untouched(3 * MIB / 4096);
            int length = 2 * MIB + 5;
            for (int at : new int[] {0, MIB - 1, MIB, 2 * MIB - 1, 2 * MIB, length - 1, length}) {
                world.process.writeBytes(address + at, new byte[] {(byte) (at + 7)});
            }
            byte[] bytes = world.process.readBytes(address, length);
            assertThat(bytes).hasSize(length);
            for (int at : new int[] {0, MIB - 1, MIB, 2 * MIB - 1, 2 * MIB, length - 1}) {
                assertThat(bytes[at]).as("byte %d", at).isEqualTo((byte) (at + 7));
            }
            assertThat(bytes[1]).isZero();
        }
    }

    @Test
    void lengthBeyondWhatIsMappedFaultsBeforeItTakesMemory() {
        try (World world = new World()) {
            long address = world.untouched(1);
            assertThatThrownBy(() -> world.process.readBytes(address, Integer.MAX_VALUE))
                    .isInstanceOf(MemoryFaultException.class)
                    .hasMessage("SIGSEGV at 0x%x", address + PAGE);
            assertThat(world.process.faultAddress()).isEqualTo(address + PAGE);
        }
    }

    @Test
    void readThatFaultsOnALaterPageNamesIt() {
        try (World world = new World()) {
            long address = world.touched(3);
            world.process.munmap(address + 2 * PAGE, PAGE);
            byte[] bytes = new byte[2 * 4096];
            assertThat(world.process.read(address + 16, bytes, 0, bytes.length)).isEqualTo(Fault.SEGV);
            assertThat(world.process.faultAddress()).isEqualTo(address + 2 * PAGE);
        }
    }

    @Test
    void accessThatBeginsOffAPageStaysWithinEachPage() {
        try (World world = new World()) {
            long address = world.untouched(6);
            for (int i = 5; i >= 0; i--) {
                world.process.putLong(address + i * PAGE, 0);
            }
            assertThat(world.process.pfnOf(address))
                    .as("frames in falling order")
                    .isNotEqualTo(world.process.pfnOf(address + PAGE) - 1);
            byte[] pattern = new byte[4 * 4096];
            for (int i = 0; i < pattern.length; i++) {
                pattern[i] = (byte) (i * 31 + i / 4096);
            }
            assertThat(world.process.write(address + 0x10, pattern, 0, pattern.length))
                    .isEqualTo(Fault.DONE);

            byte[] byPages = new byte[6 * 4096];
            for (int i = 0; i < 6; i++) {
                System.arraycopy(world.process.readBytes(address + i * PAGE, 4096), 0, byPages, i * 4096, 4096);
            }
            assertThat(Arrays.copyOfRange(byPages, 0x10, 0x10 + pattern.length)).isEqualTo(pattern);
            assertThat(Arrays.copyOf(byPages, 0x10)).containsOnly(0);
            assertThat(Arrays.copyOfRange(byPages, 0x10 + pattern.length, byPages.length))
                    .containsOnly(0);
            assertThat(world.process.readBytes(address + 0x10, pattern.length)).isEqualTo(pattern);
        }
    }

    @Test
    void whatIsNotRamReadsAsOnesWhereItIsAsked() {
        try (World world = new World()) {
            long address = world.process.mmapDevice(0, 0xf_0000, 2 * PAGE, RW);
            byte[] bytes = new byte[10];
            assertThat(world.process.read(address + PAGE - 3, bytes, 2, 6)).isEqualTo(Fault.DONE);
            assertThat(bytes).containsExactly(0, 0, -1, -1, -1, -1, -1, -1, 0, 0);
        }
    }

    @Test
    void rangesThatAnArrayHasNotAreRefusedFirst() {
        try (World world = new World()) {
            assertThatThrownBy(() -> world.process.read(0, new byte[2], 1, 2))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> world.process.write(0, new byte[2], -1, 2))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThat(world.process.faultAddress()).isZero();
        }
    }

    @Test
    void readLooksAtAPageAndWriteMakesItsEntryDirty() {
        // MM-7
        try (World world = new World();
                UserFile file = world.file(FileKind.SHMEM, 1)) {
            long address = world.map(file.forWriting(), 1, RW, Mmap.MAP_SHARED);
            world.process.getLong(address);
            assertThat(Pte.has(world.pte(address), Pte.WRITE)).isTrue();
            assertThat(Pte.has(world.pte(address), Pte.ACCESSED)).isTrue();
            world.process.getLong(address);
            assertThat(Pte.has(world.pte(address), Pte.DIRTY)).isFalse();
            world.process.putLong(address, 1);
            assertThat(Pte.has(world.pte(address), Pte.DIRTY)).isTrue();
        }
    }
}
