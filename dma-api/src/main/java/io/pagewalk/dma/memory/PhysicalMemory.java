package io.pagewalk.dma.memory;

import java.nio.ByteBuffer;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The bytes of a machine's RAM, as hardware sees them: sparse, little-endian, addressed by physical address. Software
 * goes through {@link CpuMemory}.
 *
 * <p>RAM reads as zero until it is written, and costs direct memory of the JVM only then, one chunk at a time.
 * Addresses and sizes are unsigned. Every access must lie in RAM from end to end; otherwise it throws
 * {@link IllegalArgumentException} and changes nothing. An access of no bytes is allowed anywhere. An access that needs
 * a new chunk when the JVM has no direct memory left throws {@link DirectMemoryExhaustedException}; a long write may
 * then have been done in part.
 *
 * <p>Thread-safe in the way that memory is: threads may access any addresses at any time. An aligned {@code long},
 * {@code int} or {@code short} is read and written in one piece; bulk accesses and unaligned ones are not. Plain
 * accesses order nothing; {@link #getLongAcquire}, {@link #putLongRelease} and the atomic accesses do. Only
 * {@link #discard} must not run beside an access to the bytes that it discards.
 *
 * <p>No access allocates Java heap, except for {@link #view} and the first write to a chunk.
 */
public final class PhysicalMemory {

    /** Bytes in a chunk unless one says otherwise: 2 MiB. */
    public static final int DEFAULT_CHUNK_BYTES = 2 << 20;

    private final RamMap ram;
    private final ChunkTable chunks;
    private final ScalarSlowPath slow;
    private final BulkAccess bulk;

    /** The table's own first entries and its sizes, kept here so that an access takes no detour. */
    private final @Nullable ByteBuffer[] nearChunks;

    private final int chunkShift;
    private final int chunkSizeBytes;

    private PhysicalMemory(RamMap ram, ChunkTable chunks) {
        this.ram = ram;
        this.chunks = chunks;
        this.slow = new ScalarSlowPath(ram, chunks);
        this.bulk = new BulkAccess(ram, chunks);
        this.nearChunks = chunks.nearChunks();
        this.chunkSizeBytes = chunks.chunkSizeBytes();
        this.chunkShift = Integer.numberOfTrailingZeros(chunkSizeBytes);
    }

    /**
     * Makes memory in chunks of {@link #DEFAULT_CHUNK_BYTES}.
     *
     * @param ram what is RAM
     * @return memory that reads as zero
     */
    public static PhysicalMemory create(RamMap ram) {
        return create(ram, DEFAULT_CHUNK_BYTES);
    }

    /**
     * Makes memory.
     *
     * @param ram what is RAM
     * @param chunkSizeBytes how much of it is backed at a time, a power of two from 64 bytes to 1 GiB
     * @return memory that reads as zero
     * @throws IllegalArgumentException if the chunk size is not such a power of two, or so small that the RAM has more
     *     than 2^31 chunks
     */
    public static PhysicalMemory create(RamMap ram, int chunkSizeBytes) {
        return create(ram, chunkSizeBytes, ByteBuffer::allocateDirect);
    }

    /** Makes memory that gets its direct buffers from a given source, which may throw OutOfMemoryError. */
    static PhysicalMemory create(RamMap ram, int chunkSizeBytes, IntFunction<ByteBuffer> directMemory) {
        return new PhysicalMemory(ram, new ChunkTable(ram, chunkSizeBytes, directMemory));
    }

    /**
     * Gives what is RAM.
     *
     * @return the map that this memory was made with
     */
    public RamMap ram() {
        return ram;
    }

    /**
     * Says whether a whole range is RAM.
     *
     * @param physAddr its first byte
     * @param sizeBytes its bytes
     * @return true if every byte of it is RAM
     */
    public boolean isRam(long physAddr, long sizeBytes) {
        return ram.contains(physAddr, sizeBytes);
    }

    /**
     * Gives the granularity of backing.
     *
     * @return bytes in a chunk
     */
    public int chunkSizeBytes() {
        return chunkSizeBytes;
    }

    /**
     * Gives how much memory of the JVM this memory takes.
     *
     * @return bytes of direct memory that back RAM now
     */
    public long residentBytes() {
        return chunks.residentBytes();
    }

    /**
     * Reads 8 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public long getLong(long physAddr) {
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        boolean inChunk = chunk != null && offset <= chunkSizeBytes - Long.BYTES;
        return inChunk ? (long) Words.LONG.get(chunk, offset) : slow.getLong(physAddr);
    }

    /**
     * Reads 4 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public int getInt(long physAddr) {
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        boolean inChunk = chunk != null && offset <= chunkSizeBytes - Integer.BYTES;
        return inChunk ? (int) Words.INT.get(chunk, offset) : slow.getInt(physAddr);
    }

    /**
     * Reads 2 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @return their little-endian value
     */
    public short getShort(long physAddr) {
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        boolean inChunk = chunk != null && offset <= chunkSizeBytes - Short.BYTES;
        return inChunk ? (short) Words.SHORT.get(chunk, offset) : slow.getShort(physAddr);
    }

    /**
     * Reads a byte.
     *
     * @param physAddr where
     * @return its value
     */
    public byte getByte(long physAddr) {
        ByteBuffer chunk = chunkAt(physAddr);
        return chunk == null ? slow.getByte(physAddr) : chunk.get(offsetOf(physAddr));
    }

    /**
     * Writes 8 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putLong(long physAddr, long value) {
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        if (chunk != null && offset <= chunkSizeBytes - Long.BYTES) {
            Words.LONG.set(chunk, offset, value);
        } else {
            slow.putLong(physAddr, value);
        }
    }

    /**
     * Writes 4 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putInt(long physAddr, int value) {
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        if (chunk != null && offset <= chunkSizeBytes - Integer.BYTES) {
            Words.INT.set(chunk, offset, value);
        } else {
            slow.putInt(physAddr, value);
        }
    }

    /**
     * Writes 2 bytes.
     *
     * @param physAddr where they begin, at any alignment
     * @param value what they become, little-endian
     */
    public void putShort(long physAddr, short value) {
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        if (chunk != null && offset <= chunkSizeBytes - Short.BYTES) {
            Words.SHORT.set(chunk, offset, value);
        } else {
            slow.putShort(physAddr, value);
        }
    }

    /**
     * Writes a byte.
     *
     * @param physAddr where
     * @param value what it becomes
     */
    public void putByte(long physAddr, byte value) {
        touchedChunk(physAddr, Byte.BYTES).put(offsetOf(physAddr), value);
    }

    /**
     * Reads 8 aligned bytes; later accesses of this thread stay behind it.
     *
     * @param physAddr where they begin, a multiple of 8
     * @return their little-endian value
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public long getLongAcquire(long physAddr) {
        requireAligned(physAddr);
        ByteBuffer chunk = chunkAt(physAddr);
        return chunk == null ? slow.getLongAcquire(physAddr) : (long) Words.LONG.getAcquire(chunk, offsetOf(physAddr));
    }

    /**
     * Writes 8 aligned bytes; earlier accesses of this thread stay before it.
     *
     * @param physAddr where they begin, a multiple of 8
     * @param value what they become, little-endian
     * @throws IllegalArgumentException if the address is not a multiple of 8 or not RAM
     */
    public void putLongRelease(long physAddr, long value) {
        requireAligned(physAddr);
        Words.LONG.setRelease(touchedChunk(physAddr, Long.BYTES), offsetOf(physAddr), value);
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
        requireAligned(physAddr);
        return Words.LONG.compareAndSet(touchedChunk(physAddr, Long.BYTES), offsetOf(physAddr), expected, value);
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
        requireAligned(physAddr);
        ByteBuffer chunk = touchedChunk(physAddr, Long.BYTES);
        return (long) Words.LONG.compareAndExchange(chunk, offsetOf(physAddr), expected, value);
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
        requireAligned(physAddr);
        return (long) Words.LONG.getAndAdd(touchedChunk(physAddr, Long.BYTES), offsetOf(physAddr), delta);
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
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        if (chunk != null && length <= chunkSizeBytes - offset) {
            chunk.get(offset, dst, dstOffset, length);
        } else {
            bulk.read(physAddr, dst, dstOffset, length);
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
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        if (chunk != null && length <= chunkSizeBytes - offset) {
            dst.put(dstOffset, chunk, offset, length);
        } else {
            bulk.read(physAddr, dst, dstOffset, length);
        }
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
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        if (chunk != null && length <= chunkSizeBytes - offset) {
            chunk.put(offset, src, srcOffset, length);
        } else {
            bulk.write(physAddr, src, srcOffset, length);
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
        ByteBuffer chunk = chunkAt(physAddr);
        int offset = offsetOf(physAddr);
        if (chunk != null && length <= chunkSizeBytes - offset) {
            chunk.put(offset, src, srcOffset, length);
        } else {
            bulk.write(physAddr, src, srcOffset, length);
        }
    }

    /**
     * Copies bytes inside this memory, as if through a buffer in between: the two ranges may overlap.
     *
     * @param srcPhysAddr where they are
     * @param dstPhysAddr where they go
     * @param sizeBytes how many
     */
    public void copy(long srcPhysAddr, long dstPhysAddr, long sizeBytes) {
        ByteBuffer src = chunkAt(srcPhysAddr);
        ByteBuffer dst = chunkAt(dstPhysAddr);
        int srcOffset = offsetOf(srcPhysAddr);
        int dstOffset = offsetOf(dstPhysAddr);
        int room = chunkSizeBytes - Math.max(srcOffset, dstOffset);
        if (src != null && dst != null && Addresses.lessOrEqual(sizeBytes, room)) {
            dst.put(dstOffset, src, srcOffset, (int) sizeBytes);
        } else {
            bulk.copy(srcPhysAddr, dstPhysAddr, sizeBytes);
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
        if (value == 0) {
            zero(physAddr, sizeBytes);
        } else {
            bulk.fill(physAddr, sizeBytes, value);
        }
    }

    /**
     * Sets every byte of a range to zero and keeps what backs it. Zeroing untouched memory backs nothing.
     *
     * @param physAddr where it begins
     * @param sizeBytes how many bytes
     */
    public void zero(long physAddr, long sizeBytes) {
        bulk.zero(physAddr, sizeBytes);
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
        return bulk.mismatch(physAddr, expected, index, length);
    }

    /**
     * Gives a window to a range: what is written in one is read in the other. Allocates the window, and backs the
     * range.
     *
     * <p>The window goes stale when the range is discarded.
     *
     * @param physAddr where the range begins
     * @param sizeBytes its bytes, not zero; it must lie inside one chunk or one {@linkplain #contiguousRegion
     *     contiguous region}
     * @return a little-endian buffer over the range, at position 0
     * @throws IllegalArgumentException if the range is empty, not RAM, or crosses chunks outside a contiguous region
     */
    public ByteBuffer view(long physAddr, long sizeBytes) {
        return chunks.view(physAddr, sizeBytes);
    }

    /**
     * Backs a range with one buffer from end to end, once and for all, so that views of it may be of any size and an
     * owner of many small pieces (page tables, say) can reach them all through one buffer.
     *
     * @param physAddr where the range begins, a multiple of the chunk size
     * @param sizeBytes its bytes, a multiple of the chunk size, not zero and below 2 GiB
     * @return a little-endian buffer over the range, at position 0; the same bytes as at the addresses
     * @throws IllegalArgumentException if the range is empty, too large, not made of whole chunks, or not RAM
     * @throws IllegalStateException if a part of the range is backed already
     */
    public ByteBuffer contiguousRegion(long physAddr, long sizeBytes) {
        return chunks.contiguousRegion(physAddr, sizeBytes);
    }

    /**
     * Forgets the contents of a range, which reads as zero from now on, and gives back what backs it: whole chunks are
     * released, the rest (parts of chunks, and contiguous regions) is zeroed. No other thread may access the range
     * meanwhile.
     *
     * @param physAddr where the range begins
     * @param sizeBytes its bytes
     */
    public void discard(long physAddr, long sizeBytes) {
        bulk.discard(physAddr, sizeBytes);
    }

    /** Gives the buffer of a chunk that was touched and is RAM from end to end; null sends the caller the slow way. */
    private @Nullable ByteBuffer chunkAt(long physAddr) {
        long index = physAddr >>> chunkShift;
        return index < nearChunks.length ? ChunkTable.entryAcquire(nearChunks, (int) index) : chunks.findFar(index);
    }

    private ByteBuffer touchedChunk(long physAddr, int sizeBytes) {
        ByteBuffer chunk = chunkAt(physAddr);
        return chunk != null ? chunk : slow.touchedChunk(physAddr, sizeBytes);
    }

    private int offsetOf(long physAddr) {
        return (int) physAddr & (chunkSizeBytes - 1);
    }

    private static void requireAligned(long physAddr) {
        if (!Addresses.isAligned(physAddr, Long.BYTES)) {
            throw new IllegalArgumentException(
                    "physical address " + Addresses.hex(physAddr) + " of an atomic access is not a multiple of 8");
        }
    }
}
