package io.pagewalk.dma.memory;

import org.jspecify.annotations.Nullable;

/**
 * Memory as one device reaches it by physical address: past the CPU's cache, or in agreement with it for a device that
 * snoops. Without a cache both are the same.
 *
 * <p>Addresses, alignment, errors, atomicity and thread-safety are those of {@link PhysicalMemory}. Allocates nothing
 * unless it snoops.
 */
public final class BusMemory {
    private final PhysicalMemory memory;
    private final @Nullable CpuCache snooped;

    /**
     * Makes a device's way to memory.
     *
     * @param memory the bytes
     * @param snooped the cache that the device snoops, or null when it snoops none
     */
    public BusMemory(PhysicalMemory memory, @Nullable CpuCache snooped) {
        this.memory = memory;
        this.snooped = snooped;
    }

    /**
     * Gives what is RAM.
     *
     * @return the map
     */
    public RamMap ram() {
        return memory.ram();
    }

    /**
     * Reads bytes into an array.
     *
     * @param physAddr where they begin
     * @param dst where to put them
     * @param dstOffset the first index to fill
     * @param length how many
     */
    public void read(long physAddr, byte[] dst, int dstOffset, int length) {
        if (snooped == null) {
            memory.read(physAddr, dst, dstOffset, length);
        } else {
            snooped.snoop(physAddr, length, false, () -> {
                memory.read(physAddr, dst, dstOffset, length);
                return length;
            });
        }
    }

    /**
     * Writes bytes from an array.
     *
     * @param physAddr where they go
     * @param src where they are
     * @param srcOffset the index of the first
     * @param length how many
     */
    public void write(long physAddr, byte[] src, int srcOffset, int length) {
        if (snooped == null) {
            memory.write(physAddr, src, srcOffset, length);
        } else {
            snooped.snoop(physAddr, length, true, () -> {
                memory.write(physAddr, src, srcOffset, length);
                return length;
            });
        }
    }

    /**
     * Reads 8 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public long getLong(long physAddr) {
        return snooped == null
                ? memory.getLong(physAddr)
                : snooped.snoop(physAddr, Long.BYTES, false, () -> memory.getLong(physAddr));
    }

    /**
     * Reads a byte.
     *
     * @param physAddr where
     * @return its value
     */
    public byte getByte(long physAddr) {
        return snooped == null
                ? memory.getByte(physAddr)
                : (byte) snooped.snoop(physAddr, 1, false, () -> memory.getByte(physAddr));
    }

    /**
     * Writes 8 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putLong(long physAddr, long value) {
        if (snooped == null) {
            memory.putLong(physAddr, value);
        } else {
            snooped.snoop(physAddr, Long.BYTES, true, () -> {
                memory.putLong(physAddr, value);
                return Long.BYTES;
            });
        }
    }

    /**
     * Writes a byte.
     *
     * @param physAddr where
     * @param value what it becomes
     */
    public void putByte(long physAddr, byte value) {
        if (snooped == null) {
            memory.putByte(physAddr, value);
        } else {
            snooped.snoop(physAddr, 1, true, () -> {
                memory.putByte(physAddr, value);
                return 1;
            });
        }
    }

    /**
     * Adds to 8 aligned bytes, atomically.
     *
     * @param physAddr where they begin, a multiple of 8
     * @param delta what to add, modulo 2^64
     * @return the value they had
     */
    public long getAndAddLong(long physAddr, long delta) {
        return snooped == null
                ? memory.getAndAddLong(physAddr, delta)
                : snooped.snoop(physAddr, Long.BYTES, true, () -> memory.getAndAddLong(physAddr, delta));
    }

    /**
     * Writes 8 aligned bytes if they have an expected value, atomically.
     *
     * @param physAddr where they begin, a multiple of 8
     * @param expected the value they must have
     * @param value what they become then
     * @return the value they had
     */
    public long compareAndExchangeLong(long physAddr, long expected, long value) {
        return snooped == null
                ? memory.compareAndExchangeLong(physAddr, expected, value)
                : snooped.snoop(
                        physAddr, Long.BYTES, true, () -> memory.compareAndExchangeLong(physAddr, expected, value));
    }
}
