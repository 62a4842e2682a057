package io.pagewalk.model;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.kit.Buffer;
import io.pagewalk.kit.SmallWorld;
import java.util.List;
import java.util.SplittableRandom;

/** The RAM in which original buffers lie, as byte arrays: below 48 MiB and a bit, around 4 GiB, and up to its end. */
final class ModelMemory {
    private static final long FOUR_GIB = 1L << 32;
    private static final int TOP_BYTES = 0x4_8000;

    static final List<PhysRange> WINDOWS = List.of(
            PhysRange.ofSize(SmallWorld.ARENAS.get(0).first(), 0x1_0000),
            PhysRange.ofSize(FOUR_GIB - 0x8000, 0x1_0000),
            PhysRange.ofSize(SmallWorld.ARENAS.get(1).last() + 1 - TOP_BYTES, TOP_BYTES));

    private static final List<byte[]> CONTENT =
            WINDOWS.stream().map(ModelMemory::content).toList();

    private final Machine machine;
    private final List<byte[]> bytes;

    ModelMemory(Machine machine) {
        this.machine = machine;
        this.bytes = CONTENT.stream().map(byte[]::clone).toList();
        for (int i = 0; i < bytes.size(); i++) {
            machine.cpuMemory().write(WINDOWS.get(i).first(), bytes.get(i), 0, bytes.get(i).length);
        }
    }

    private static byte[] content(PhysRange window) {
        byte[] content = new byte[(int) window.sizeBytes()];
        new SplittableRandom(window.first()).nextBytes(content);
        return content;
    }

    private static int windowOf(long physAddr) {
        for (int i = 0; i < WINDOWS.size(); i++) {
            PhysRange window = WINDOWS.get(i);
            if (Addresses.contains(window.first(), window.sizeBytes(), physAddr, 1)) {
                return i;
            }
        }
        throw new IllegalArgumentException(Addresses.hex(physAddr) + " lies in no window");
    }

    byte[] read(Buffer buffer) {
        byte[] copy = new byte[buffer.sizeBytes()];
        int window = windowOf(buffer.physAddr());
        System.arraycopy(bytes.get(window), offset(window, buffer.physAddr()), copy, 0, copy.length);
        return copy;
    }

    void write(long physAddr, byte[] src, int srcOffset, int lengthBytes) {
        int window = windowOf(physAddr);
        System.arraycopy(src, srcOffset, bytes.get(window), offset(window, physAddr), lengthBytes);
    }

    private static int offset(int window, long physAddr) {
        return (int) (physAddr - WINDOWS.get(window).first());
    }

    /** Isolation and data at once: each byte of each window is what the model says. */
    void requireEqual() {
        for (int i = 0; i < bytes.size(); i++) {
            byte[] expected = bytes.get(i);
            long first = WINDOWS.get(i).first();
            int differs = machine.cpuMemory().mismatch(first, expected, 0, expected.length);
            if (differs >= 0) {
                throw new AssertionError("byte %s is 0x%02x, the model says 0x%02x"
                        .formatted(
                                Addresses.hex(first + differs),
                                machine.cpuMemory().getByte(first + differs),
                                expected[differs]));
            }
        }
    }
}
