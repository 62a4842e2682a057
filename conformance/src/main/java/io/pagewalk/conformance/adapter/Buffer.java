package io.pagewalk.conformance.adapter;

import io.pagewalk.dma.memory.CpuMemory;

/** Bytes of memory as the recording module filled and inspected them. */
final class Buffer {
    private static final byte[] PERIODS = periods(1 << 16);

    private final CpuMemory memory;
    private final long physAddr;
    private final int sizeBytes;

    Buffer(CpuMemory memory, long physAddr, long sizeBytes) {
        this.memory = memory;
        this.physAddr = physAddr;
        this.sizeBytes = Math.toIntExact(sizeBytes);
    }

    /** Fills it with one value. */
    void fill(int value) {
        memory.fill(physAddr, sizeBytes, (byte) value);
    }

    /** Fills it with a period of 256 different bytes. */
    void fillWithPeriod() {
        for (int done = 0; done < sizeBytes; done += PERIODS.length) {
            memory.write(physAddr + done, PERIODS, 0, Math.min(PERIODS.length, sizeBytes - done));
        }
    }

    private static byte[] periods(int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        for (int i = 0; i < sizeBytes; i++) {
            bytes[i] = (byte) i;
        }
        return bytes;
    }

    /** Its bytes. */
    byte[] read() {
        byte[] bytes = new byte[sizeBytes];
        memory.read(physAddr, bytes, 0, sizeBytes);
        return bytes;
    }

    /** Whether other memory holds the same. */
    boolean isSameAs(Buffer other) {
        return memory.mismatch(physAddr, other.read(), 0, sizeBytes) < 0;
    }

    /** Whether it holds zeros only. */
    boolean isZero() {
        return having(0)[2] == sizeBytes;
    }

    /** Where it has a value: first, end (exclusive) and how many; zeros for nowhere. */
    long[] having(int value) {
        byte[] bytes = read();
        long[] found = new long[3];
        for (int i = 0; i < sizeBytes; i++) {
            if (bytes[i] == (byte) value) {
                found[0] = found[2] == 0 ? i : found[0];
                found[1] = i + 1L;
                found[2]++;
            }
        }
        return found;
    }
}
