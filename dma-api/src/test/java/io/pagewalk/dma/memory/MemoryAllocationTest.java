package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** No access puts anything on the heap. */
class MemoryAllocationTest {

    private static final int ROUNDS = 20_000;

    /** Below 0.05 bytes a round, and above what asking costs. */
    private static final long BOUND = ROUNDS / 20;

    private static final int CHUNK = 4096;

    private final PhysicalMemory memory = PhysicalMemory.create(
            RamMap.of(new PhysRange(0, (1 << 20) - 1), new PhysRange(2 << 20, (2 << 20) + 99)), CHUNK);
    private final CpuMemory cpuMemory = new CpuMemory(memory);
    private final byte[] array = new byte[3 * CHUNK];
    private final ByteBuffer direct = ByteBuffer.allocateDirect(3 * CHUNK);
    private long sink;

    private void requireNone(Runnable work) throws ReflectiveOperationException {
        AllocatedBytes allocated = new AllocatedBytes();
        Runnable rounds = () -> {
            for (int i = 0; i < ROUNDS; i++) {
                work.run();
            }
        };
        allocated.during(rounds);
        allocated.during(rounds);
        assertThat(allocated.during(rounds)).isLessThan(BOUND);
        assertThat(sink).isNotEqualTo(Long.MIN_VALUE);
    }

    @Test
    void plainAccessesAllocateNothing() throws Exception {
        requireNone(() -> {
            memory.putLong(16, sink);
            memory.putInt(24, (int) sink);
            memory.putShort(28, (short) sink);
            memory.putByte(30, (byte) sink);
            sink += memory.getLong(16) + memory.getInt(24) + memory.getShort(28) + memory.getByte(30) + 1;
        });
    }

    @Test
    void atomicAccessesAllocateNothing() throws Exception {
        requireNone(() -> {
            memory.putLongRelease(16, sink);
            memory.compareAndSetLong(16, sink, sink + 1);
            sink += memory.compareAndExchangeLong(16, sink + 1, 5) + memory.getAndAddLong(16, 3);
            sink += memory.getLongAcquire(16);
        });
    }

    @Test
    void accessesOnTheSlowPathAllocateNothing() throws Exception {
        requireNone(() -> {
            memory.putLong(CHUNK - 3, sink);
            memory.putLong(2 << 20, sink);
            sink += memory.getLong(CHUNK - 3) + memory.getLong((2 << 20) + 3) + memory.getLong(512 << 10) + 1;
        });
    }

    @Test
    void bulkAccessesAllocateNothing() throws Exception {
        requireNone(() -> {
            memory.write(100, array, 0, 512);
            memory.read(100, array, 0, 512);
            memory.write(100, direct, 0, 512);
            memory.read(100, direct, 0, 512);
            memory.copy(100, 2000, 512);
            memory.copy(100, 120, 512);
            memory.fill(100, 512, (byte) 3);
            memory.zero(100, 512);
            sink += memory.mismatch(100, array, 0, 512);
        });
    }

    @Test
    void bulkAccessesAcrossChunksAllocateNothing() throws Exception {
        requireNone(() -> {
            memory.write(CHUNK - 100, array, 0, CHUNK + 200);
            memory.read(CHUNK - 100, array, 0, CHUNK + 200);
            memory.write(CHUNK - 100, direct, 0, 512);
            memory.read(CHUNK - 100, direct, 0, 512);
            memory.copy(CHUNK - 100, 2 * CHUNK - 100, 512);
            memory.copy(CHUNK - 100, CHUNK - 50, 512);
            memory.fill(CHUNK - 100, 512, (byte) 3);
            sink += memory.mismatch(CHUNK - 100, array, 0, CHUNK + 200);
        });
    }

    @Test
    void theCpusViewAllocatesNothing() throws Exception {
        requireNone(() -> {
            cpuMemory.putLong(16, sink);
            cpuMemory.copy(100, 2000, 512);
            sink += cpuMemory.getLong(16) + 1;
        });
    }

    @Test
    void countingFramesAllocatesNothing() throws Exception {
        PageFrames frames = new PageFrames();
        requireNone(() -> {
            frames.get(1000, 3);
            frames.pin(1000);
            frames.setDirty(1000);
            frames.clearDirty(1000);
            sink += frames.unpin(1000) + frames.put(1000, 3) + frames.refCount(77) + 1;
        });
    }

    @Test
    void askingTheRamMapAllocatesNothing() throws Exception {
        RamMap ram = memory.ram();
        requireNone(() -> sink += ram.bytesFrom(sink & 0xfffff) + (ram.contains(sink & 0xffff, 8) ? 1 : 0));
    }
}
