package io.pagewalk.dma.memory;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a machine's RAM, as software sees them: what users of the library, processes and bounce copies read and
 * write. Devices see {@link PhysicalMemory}.
 *
 * <p>Without a cache both are the same bytes at once, and a call pays one test. With one ({@link #cache}) they part
 * where the cache holds a line: a device that does not snoop reaches around it, and what it writes or has to read
 * arrives by the maintenance that map, unmap and sync do. {@link #view} is refused then, since nothing can stand
 * between a view and memory.
 *
 * <p>Addresses, alignment, errors, atomicity and thread-safety are those of {@link PhysicalMemory}: an access outside
 * RAM throws {@link IllegalArgumentException} and changes nothing.
 */
public final class CpuMemory {

    private final PhysicalMemory memory;
    private final @Nullable CpuCache cache;

    /**
     * Makes the CPUs' view of a memory.
     *
     * @param memory the bytes
     */
    public CpuMemory(PhysicalMemory memory) {
        this.memory = Objects.requireNonNull(memory, "memory");
        this.cache = null;
    }

    /**
     * Makes the CPUs' view of a memory through a cache.
     *
     * @param memory the bytes
     * @param options the cache
     * @throws IllegalArgumentException if a range of RAM does not consist of whole lines
     */
    public CpuMemory(PhysicalMemory memory, CpuCacheOptions options) {
        this.memory = memory;
        this.cache = new CpuCache(memory, options);
    }

    /**
     * The cache in between.
     *
     * @return the cache, or null when there is none
     */
    public @Nullable CpuCache cache() {
        return cache;
    }

    /**
     * The same memory as software sees it through a mapping without caching, such as that of coherent memory of a
     * device that does not snoop.
     *
     * @return this, when there is no cache
     */
    public CpuMemory uncached() {
        return cache == null ? this : new CpuMemory(memory);
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
        return cache == null ? memory.getLong(physAddr) : cache.getWord(physAddr, Long.BYTES);
    }

    /**
     * Reads 4 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public int getInt(long physAddr) {
        return cache == null ? memory.getInt(physAddr) : (int) cache.getWord(physAddr, Integer.BYTES);
    }

    /**
     * Reads 2 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public short getShort(long physAddr) {
        return cache == null ? memory.getShort(physAddr) : (short) cache.getWord(physAddr, Short.BYTES);
    }

    /**
     * Reads a byte.
     *
     * @param physAddr where
     * @return its value
     */
    public byte getByte(long physAddr) {
        return cache == null ? memory.getByte(physAddr) : (byte) cache.getWord(physAddr, 1);
    }

    /**
     * Writes 8 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putLong(long physAddr, long value) {
        if (cache == null) {
            memory.putLong(physAddr, value);
        } else {
            cache.putWord(physAddr, value, Long.BYTES);
        }
    }

    /**
     * Writes 4 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putInt(long physAddr, int value) {
        if (cache == null) {
            memory.putInt(physAddr, value);
        } else {
            cache.putWord(physAddr, value, Integer.BYTES);
        }
    }

    /**
     * Writes 2 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putShort(long physAddr, short value) {
        if (cache == null) {
            memory.putShort(physAddr, value);
        } else {
            cache.putWord(physAddr, value, Short.BYTES);
        }
    }

    /**
     * Writes a byte.
     *
     * @param physAddr where
     * @param value what it becomes
     */
    public void putByte(long physAddr, byte value) {
        if (cache == null) {
            memory.putByte(physAddr, value);
        } else {
            cache.putWord(physAddr, value, 1);
        }
    }

    /**
     * Reads 8 aligned bytes; later accesses of this thread stay behind it.
     *
     * @param physAddr where they begin, a multiple of 8
     * @return their little-endian value
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public long getLongAcquire(long physAddr) {
        return cache == null ? memory.getLongAcquire(physAddr) : cache.getAligned(physAddr);
    }

    /**
     * Writes 8 aligned bytes; earlier accesses of this thread stay before it.
     *
     * @param physAddr where they begin, a multiple of 8
     * @param value what they become, little-endian
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public void putLongRelease(long physAddr, long value) {
        if (cache == null) {
            memory.putLongRelease(physAddr, value);
        } else {
            cache.putAligned(physAddr, value);
        }
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
        return cache == null
                ? memory.compareAndSetLong(physAddr, expected, value)
                : cache.compareAndExchange(physAddr, expected, value) == expected;
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
        return cache == null
                ? memory.compareAndExchangeLong(physAddr, expected, value)
                : cache.compareAndExchange(physAddr, expected, value);
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
        return cache == null ? memory.getAndAddLong(physAddr, delta) : cache.getAndAdd(physAddr, delta);
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
        if (cache == null) {
            memory.read(physAddr, dst, dstOffset, length);
        } else {
            cache.read(physAddr, dst, dstOffset, length);
        }
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
        if (cache == null) {
            memory.read(physAddr, dst, dstOffset, length);
        } else {
            readThrough(cache, physAddr, dst, dstOffset, length);
        }
    }

    private static void readThrough(CpuCache cache, long physAddr, ByteBuffer dst, int dstOffset, int length) {
        Objects.checkFromIndexSize(dstOffset, length, dst.limit());
        if (dst.isReadOnly()) {
            throw new ReadOnlyBufferException();
        }
        byte[] bytes = new byte[length];
        cache.read(physAddr, bytes, 0, length);
        dst.put(dstOffset, bytes);
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
        if (cache == null) {
            memory.write(physAddr, src, srcOffset, length);
        } else {
            cache.write(physAddr, src, srcOffset, length);
        }
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
        if (cache == null) {
            memory.write(physAddr, src, srcOffset, length);
        } else {
            writeThrough(cache, physAddr, src, srcOffset, length);
        }
    }

    private static void writeThrough(CpuCache cache, long physAddr, ByteBuffer src, int srcOffset, int length) {
        Objects.checkFromIndexSize(srcOffset, length, src.limit());
        byte[] bytes = new byte[length];
        src.get(srcOffset, bytes);
        cache.write(physAddr, bytes, 0, length);
    }

    /**
     * Copies bytes inside this memory, as if through a buffer in between: the two ranges may overlap.
     *
     * @param srcPhysAddr where they are
     * @param dstPhysAddr where they go
     * @param sizeBytes how many
     */
    public void copy(long srcPhysAddr, long dstPhysAddr, long sizeBytes) {
        if (cache == null) {
            memory.copy(srcPhysAddr, dstPhysAddr, sizeBytes);
        } else {
            cache.copy(srcPhysAddr, dstPhysAddr, sizeBytes);
        }
    }

    /**
     * Sets every byte of a range to one value. Filling untouched memory with zero backs nothing.
     *
     * @param physAddr where it begins
     * @param sizeBytes how many bytes
     * @param value what they become
     */
    public void fill(long physAddr, long sizeBytes, byte value) {
        if (cache == null) {
            memory.fill(physAddr, sizeBytes, value);
        } else {
            cache.fill(physAddr, sizeBytes, value);
        }
    }

    /**
     * Sets every byte of a range to zero and keeps what backs it. Zeroing untouched memory backs nothing.
     *
     * @param physAddr where it begins
     * @param sizeBytes how many bytes
     */
    public void zero(long physAddr, long sizeBytes) {
        if (cache == null) {
            memory.zero(physAddr, sizeBytes);
        } else {
            cache.fill(physAddr, sizeBytes, (byte) 0);
        }
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
        return cache == null
                ? memory.mismatch(physAddr, expected, index, length)
                : mismatchThrough(cache, physAddr, expected, index, length);
    }

    private static int mismatchThrough(CpuCache cache, long physAddr, byte[] expected, int index, int length) {
        Objects.checkFromIndexSize(index, length, expected.length);
        byte[] bytes = new byte[length];
        cache.read(physAddr, bytes, 0, length);
        return Arrays.mismatch(bytes, 0, length, expected, index, index + length);
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
     * @throws IllegalStateException if there is a cache
     */
    public ByteBuffer view(long physAddr, long sizeBytes) {
        if (cache != null) {
            throw new IllegalStateException(
                    "no view of " + Addresses.hexRange(physAddr, sizeBytes) + ": the machine has a CPU cache");
        }
        return memory.view(physAddr, sizeBytes);
    }
}
