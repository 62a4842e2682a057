package io.pagewalk.dma.memory;

import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * The bytes of a machine's RAM, as software sees them: what users of the library, processes and bounce copies read and
 * write. Devices see {@link PhysicalMemory}.
 *
 * <p>Here both are the same bytes at once. They part where a CPU keeps written bytes in a cache that a device does not
 * snoop; a write-back cache can be put inside this class without its callers noticing, and that is why software must
 * not go around it. {@link #view} is the exception: nothing can stand between a view and memory, so it would be refused
 * while there is a cache.
 *
 * <p>Addresses, alignment, errors, atomicity and thread-safety are those of {@link PhysicalMemory}: an access outside
 * RAM throws {@link IllegalArgumentException} and changes nothing.
 */
public final class CpuMemory {

    private final PhysicalMemory memory;

    /**
     * Makes the CPUs' view of a memory.
     *
     * @param memory the bytes
     */
    public CpuMemory(PhysicalMemory memory) {
        this.memory = Objects.requireNonNull(memory, "memory");
    }

    /**
     * Says whether a whole range is RAM.
     *
     * @param physAddr its first byte
     * @param sizeBytes its bytes
     * @return true if every byte of it is RAM
     */
    public boolean isRam(long physAddr, long sizeBytes) {
        return memory.isRam(physAddr, sizeBytes);
    }

    /**
     * Reads 8 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public long getLong(long physAddr) {
        return memory.getLong(physAddr);
    }

    /**
     * Reads 4 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public int getInt(long physAddr) {
        return memory.getInt(physAddr);
    }

    /**
     * Reads 2 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public short getShort(long physAddr) {
        return memory.getShort(physAddr);
    }

    /**
     * Reads a byte.
     *
     * @param physAddr where
     * @return its value
     */
    public byte getByte(long physAddr) {
        return memory.getByte(physAddr);
    }

    /**
     * Writes 8 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putLong(long physAddr, long value) {
        memory.putLong(physAddr, value);
    }

    /**
     * Writes 4 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putInt(long physAddr, int value) {
        memory.putInt(physAddr, value);
    }

    /**
     * Writes 2 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putShort(long physAddr, short value) {
        memory.putShort(physAddr, value);
    }

    /**
     * Writes a byte.
     *
     * @param physAddr where
     * @param value what it becomes
     */
    public void putByte(long physAddr, byte value) {
        memory.putByte(physAddr, value);
    }

    /**
     * Reads 8 aligned bytes; later accesses of this thread stay behind it.
     *
     * @param physAddr where they begin, a multiple of 8
     * @return their little-endian value
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public long getLongAcquire(long physAddr) {
        return memory.getLongAcquire(physAddr);
    }

    /**
     * Writes 8 aligned bytes; earlier accesses of this thread stay before it.
     *
     * @param physAddr where they begin, a multiple of 8
     * @param value what they become, little-endian
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public void putLongRelease(long physAddr, long value) {
        memory.putLongRelease(physAddr, value);
    }

    /**
     * Writes 8 aligned bytes if they have an expected value, atomically and with the order of a volatile access.
     *
     * @param physAddr where they begin, a multiple of 8
     * @param expected the value they must have
     * @param value what they become then
     * @return true if they had the expected value
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public boolean compareAndSetLong(long physAddr, long expected, long value) {
        return memory.compareAndSetLong(physAddr, expected, value);
    }

    /**
     * Writes 8 aligned bytes if they have an expected value, atomically and with the order of a volatile access.
     *
     * @param physAddr where they begin, a multiple of 8
     * @param expected the value they must have
     * @param value what they become then
     * @return the value they had, which is {@code expected} if they were written
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public long compareAndExchangeLong(long physAddr, long expected, long value) {
        return memory.compareAndExchangeLong(physAddr, expected, value);
    }

    /**
     * Adds to 8 aligned bytes, atomically and with the order of a volatile access.
     *
     * @param physAddr where they begin, a multiple of 8
     * @param delta what to add, modulo 2^64
     * @return the value they had
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public long getAndAddLong(long physAddr, long delta) {
        return memory.getAndAddLong(physAddr, delta);
    }

    /**
     * Reads bytes into an array.
     *
     * @param physAddr where they begin
     * @param dst where to put them
     * @param dstOffset the first index to fill
     * @param length how many
     * @throws IndexOutOfBoundsException if the array is too short; nothing is read then
     */
    public void read(long physAddr, byte[] dst, int dstOffset, int length) {
        memory.read(physAddr, dst, dstOffset, length);
    }

    /**
     * Reads bytes into a buffer, whose position stays where it is.
     *
     * @param physAddr where they begin
     * @param dst where to put them
     * @param dstOffset the first index to fill
     * @param length how many
     * @throws IndexOutOfBoundsException if the buffer's limit is too low; nothing is read then
     * @throws java.nio.ReadOnlyBufferException if the buffer cannot be written; nothing is read then
     */
    public void read(long physAddr, ByteBuffer dst, int dstOffset, int length) {
        memory.read(physAddr, dst, dstOffset, length);
    }

    /**
     * Writes bytes from an array.
     *
     * @param physAddr where they go
     * @param src where they are
     * @param srcOffset the index of the first
     * @param length how many
     * @throws IndexOutOfBoundsException if the array is too short; nothing is written then
     */
    public void write(long physAddr, byte[] src, int srcOffset, int length) {
        memory.write(physAddr, src, srcOffset, length);
    }

    /**
     * Writes bytes from a buffer, whose position stays where it is.
     *
     * @param physAddr where they go
     * @param src where they are
     * @param srcOffset the index of the first
     * @param length how many
     * @throws IndexOutOfBoundsException if the buffer's limit is too low; nothing is written then
     */
    public void write(long physAddr, ByteBuffer src, int srcOffset, int length) {
        memory.write(physAddr, src, srcOffset, length);
    }

    /**
     * Copies bytes inside this memory, as if through a buffer in between: the two ranges may overlap.
     *
     * @param srcPhysAddr where they are
     * @param dstPhysAddr where they go
     * @param sizeBytes how many
     */
    public void copy(long srcPhysAddr, long dstPhysAddr, long sizeBytes) {
        memory.copy(srcPhysAddr, dstPhysAddr, sizeBytes);
    }

    /**
     * Sets every byte of a range to one value. Filling untouched memory with zero backs nothing.
     *
     * @param physAddr where it begins
     * @param sizeBytes how many bytes
     * @param value what they become
     */
    public void fill(long physAddr, long sizeBytes, byte value) {
        memory.fill(physAddr, sizeBytes, value);
    }

    /**
     * Sets every byte of a range to zero and keeps what backs it. Zeroing untouched memory backs nothing.
     *
     * @param physAddr where it begins
     * @param sizeBytes how many bytes
     */
    public void zero(long physAddr, long sizeBytes) {
        memory.zero(physAddr, sizeBytes);
    }

    /**
     * Compares a range with what is expected there.
     *
     * @param physAddr where it begins
     * @param expected the expected bytes
     * @param index the index of the first expected byte
     * @param length how many
     * @return how many bytes are as expected before the first that differs, or -1 if none does
     * @throws IndexOutOfBoundsException if the array is too short
     */
    public int mismatch(long physAddr, byte[] expected, int index, int length) {
        return memory.mismatch(physAddr, expected, index, length);
    }

    /**
     * Gives a window to a range: what is written in one is read in the other. Allocates the window, and backs the
     * range.
     *
     * <p>The window goes stale when the range is discarded.
     *
     * @param physAddr where the range begins
     * @param sizeBytes its bytes, not zero; it must lie inside one chunk or one
     *     {@linkplain PhysicalMemory#contiguousRegion contiguous region}
     * @return a little-endian buffer over the range, at position 0
     * @throws IllegalArgumentException if the range is empty, not RAM, or crosses chunks outside a contiguous region
     */
    public ByteBuffer view(long physAddr, long sizeBytes) {
        return memory.view(physAddr, sizeBytes);
    }
}
