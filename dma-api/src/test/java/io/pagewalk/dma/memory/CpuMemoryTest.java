package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

class CpuMemoryTest {

    private final PhysicalMemory memory = PhysicalMemory.create(RamMap.sizedWithHole(1 << 20), 4096);
    private final CpuMemory cpu = new CpuMemory(memory);

    @Test
    void softwareAndHardwareSeeTheSameBytes() {
        cpu.putLong(0, 0x1122_3344_5566_7788L);
        cpu.putInt(8, 5);
        cpu.putShort(12, (short) 6);
        cpu.putByte(14, (byte) 7);
        cpu.putLongRelease(16, 8);

        assertThat(memory.getLong(0)).isEqualTo(cpu.getLong(0)).isEqualTo(0x1122_3344_5566_7788L);
        assertThat(memory.getInt(8)).isEqualTo(cpu.getInt(8)).isEqualTo(5);
        assertThat(memory.getShort(12)).isEqualTo(cpu.getShort(12)).isEqualTo((short) 6);
        assertThat(memory.getByte(14)).isEqualTo(cpu.getByte(14)).isEqualTo((byte) 7);
        assertThat(memory.getLong(16)).isEqualTo(cpu.getLongAcquire(16)).isEqualTo(8);
    }

    @Test
    void atomicAccessesActOnMemory() {
        assertThat(cpu.compareAndSetLong(8, 0, 4)).isTrue();
        assertThat(cpu.compareAndExchangeLong(8, 4, 5)).isEqualTo(4);
        assertThat(cpu.getAndAddLong(8, 2)).isEqualTo(5);
        assertThat(memory.getLong(8)).isEqualTo(7);
    }

    @Test
    void bulkAccessesActOnMemory() {
        byte[] bytes = {1, 2, 3, 4};
        cpu.write(4094, bytes, 0, 4);
        cpu.write(100, ByteBuffer.wrap(bytes), 1, 2);
        assertThat(memory.mismatch(4094, bytes, 0, 4)).isEqualTo(-1);
        assertThat(cpu.mismatch(100, new byte[] {2, 9}, 0, 2)).isEqualTo(1);

        cpu.copy(4094, 200, 4);
        byte[] read = new byte[4];
        cpu.read(200, read, 0, 4);
        assertThat(read).containsExactly(1, 2, 3, 4);

        cpu.fill(200, 2, (byte) 9);
        cpu.zero(202, 1);
        cpu.read(200, ByteBuffer.wrap(read), 0, 4);
        assertThat(read).containsExactly(9, 9, 0, 4);
        assertThat(cpu.view(200, 4).get(3)).isEqualTo((byte) 4);
    }

    @Test
    void whatIsNotRamIsRefused() {
        assertThat(cpu.isRam((1 << 20) - 8, 8)).isTrue();
        assertThat(cpu.isRam((1 << 20) - 8, 9)).isFalse();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> cpu.putLong((1 << 20) - 4, 1))
                .withMessage("physical address 0xffffc+0x8 is not RAM");
    }
}
