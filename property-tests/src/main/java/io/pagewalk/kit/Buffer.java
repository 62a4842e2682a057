package io.pagewalk.kit;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;

/**
 * A run of physical memory that a driver maps.
 *
 * @param physAddr first byte
 * @param sizeBytes length, at least 1
 */
public record Buffer(long physAddr, int sizeBytes) {
    /**
     * Refuses a buffer without bytes.
     *
     * @param physAddr first byte
     * @param sizeBytes length, at least 1
     */
    public Buffer {
        if (sizeBytes < 1) {
            throw new IllegalArgumentException("a buffer has bytes, not " + sizeBytes);
        }
    }

    /**
     * The last byte's address.
     *
     * @return inclusive
     */
    public long last() {
        return Addresses.last(physAddr, sizeBytes);
    }

    /**
     * Whether two buffers share a byte.
     *
     * @param other the other one
     * @return true when they do
     */
    public boolean overlaps(Buffer other) {
        return Addresses.overlaps(physAddr, sizeBytes, other.physAddr, other.sizeBytes);
    }

    /**
     * What the CPU reads there.
     *
     * @param machine whose memory
     * @return a copy
     */
    public byte[] read(Machine machine) {
        byte[] bytes = new byte[sizeBytes];
        machine.cpuMemory().read(physAddr, bytes, 0, sizeBytes);
        return bytes;
    }

    /**
     * Writes all of it, as the CPU does.
     *
     * @param machine whose memory
     * @param bytes as many as the buffer has
     */
    public void write(Machine machine, byte[] bytes) {
        machine.cpuMemory().write(physAddr, bytes, 0, sizeBytes);
    }

    @Override
    public String toString() {
        return Addresses.hexRange(physAddr, sizeBytes);
    }
}
