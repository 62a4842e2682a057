package io.pagewalk.dma.memory;

import java.util.Arrays;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The write-back cache between software and memory: all CPUs share it, which is what a cache that the CPUs keep
 * coherent among themselves looks like. {@link CpuMemory} goes through it; a device that snoops sees what it holds, any
 * other one reaches around it, so that a missing sync shows as on such a board.
 *
 * <p>A read or write brings in the whole line. A line is written back as a whole when it is cleaned, flushed or makes
 * room for another: that is how two objects in one line destroy each other (case F8). An access larger than the cache
 * uses the lines that are there and brings in none.
 *
 * <p>Thread-safe. It costs time and heap on each access; without it a machine pays one test.
 */
public final class CpuCache {
    private static final int STEP_BYTES = 4096;

    private final PhysicalMemory memory;
    private final CacheLines lines;
    private long staleReads;
    private long lastStalePhysAddr = -1L;

    /**
     * Makes an empty cache.
     *
     * @param memory what it caches
     * @param options its size
     * @throws IllegalArgumentException if a range of RAM does not consist of whole lines
     */
    CpuCache(PhysicalMemory memory, CpuCacheOptions options) {
        for (PhysRange range : memory.ram().ranges()) {
            if (((range.first() | (range.last() + 1)) & (options.lineBytes() - 1)) != 0) {
                throw new IllegalArgumentException(
                        "RAM at " + range + " does not consist of lines of " + options.lineBytes() + " bytes");
            }
        }
        this.memory = memory;
        this.lines = new CacheLines(memory, options);
    }

    // ---- what software does

    synchronized void read(long physAddr, byte[] dst, int dstOffset, int length) {
        Objects.checkFromIndexSize(dstOffset, length, dst.length);
        requireRam(physAddr, length);
        boolean large = lines.isLarge(length);
        for (int done = 0; done < length; ) {
            int step = step(physAddr + done, length - done);
            CacheLines.Line line = lineForRead(physAddr + done, large);
            if (line == null) {
                memory.read(physAddr + done, dst, dstOffset + done, step);
            } else {
                System.arraycopy(line.bytes(), lines.offsetOf(physAddr + done), dst, dstOffset + done, step);
            }
            done += step;
        }
    }

    private CacheLines.@Nullable Line lineForRead(long physAddr, boolean large) {
        CacheLines.Line line = lines.find(physAddr);
        if (line == null) {
            return large ? null : lines.fetch(physAddr);
        }
        if (lines.isStale(physAddr, line)) {
            staleReads++;
            lastStalePhysAddr = physAddr;
        }
        return line;
    }

    synchronized void write(long physAddr, byte[] src, int srcOffset, int length) {
        Objects.checkFromIndexSize(srcOffset, length, src.length);
        requireRam(physAddr, length);
        writeSteps(physAddr, src, srcOffset, length, lines.isLarge(length));
    }

    private void writeSteps(long physAddr, byte[] src, int srcOffset, int length, boolean large) {
        for (int done = 0; done < length; ) {
            int step = step(physAddr + done, length - done);
            CacheLines.Line line = large ? lines.find(physAddr + done) : lines.fetch(physAddr + done);
            if (line == null) {
                memory.write(physAddr + done, src, srcOffset + done, step);
            } else {
                System.arraycopy(src, srcOffset + done, line.bytes(), lines.offsetOf(physAddr + done), step);
                line.markDirty();
            }
            done += step;
        }
    }

    synchronized void fill(long physAddr, long sizeBytes, byte value) {
        requireRam(physAddr, sizeBytes);
        boolean large = lines.isLarge(sizeBytes);
        for (long done = 0; Addresses.lessThan(done, sizeBytes); ) {
            int step = step(physAddr + done, sizeBytes - done);
            CacheLines.Line line = large ? lines.find(physAddr + done) : lines.fetch(physAddr + done);
            if (line == null) {
                memory.fill(physAddr + done, step, value);
            } else {
                int at = lines.offsetOf(physAddr + done);
                Arrays.fill(line.bytes(), at, at + step, value);
                line.markDirty();
            }
            done += step;
        }
    }

    /** In steps, from the end where the ranges overlap that way. */
    synchronized void copy(long srcPhysAddr, long dstPhysAddr, long sizeBytes) {
        requireRam(srcPhysAddr, sizeBytes);
        requireRam(dstPhysAddr, sizeBytes);
        boolean backwards = Addresses.lessThan(srcPhysAddr, dstPhysAddr);
        boolean large = lines.isLarge(sizeBytes);
        byte[] between = new byte[STEP_BYTES];
        for (long left = sizeBytes; left != 0; ) {
            int step = (int) Addresses.min(left, STEP_BYTES);
            long at = backwards ? left - step : sizeBytes - left;
            read(srcPhysAddr + at, between, 0, step);
            writeSteps(dstPhysAddr + at, between, 0, step, large);
            left -= step;
        }
    }

    /** Reads up to 8 little-endian bytes. */
    synchronized long getWord(long physAddr, int sizeBytes) {
        byte[] word = new byte[Long.BYTES];
        read(physAddr, word, 0, sizeBytes);
        return Words.fromBytes(word);
    }

    /** Writes up to 8 little-endian bytes. */
    synchronized void putWord(long physAddr, long value, int sizeBytes) {
        write(physAddr, Words.toBytes(value), 0, sizeBytes);
    }

    synchronized long compareAndExchange(long physAddr, long expected, long value) {
        long old = getAligned(physAddr);
        if (old == expected) {
            putWord(physAddr, value, Long.BYTES);
        }
        return old;
    }

    synchronized long getAndAdd(long physAddr, long delta) {
        long old = getAligned(physAddr);
        putWord(physAddr, old + delta, Long.BYTES);
        return old;
    }

    /** Of eight bytes that memory takes for an aligned word of RAM, and says so if not. */
    long getAligned(long physAddr) {
        memory.getLongAcquire(physAddr);
        return getWord(physAddr, Long.BYTES);
    }

    void putAligned(long physAddr, long value) {
        memory.getLongAcquire(physAddr);
        putWord(physAddr, value, Long.BYTES);
    }

    private void requireRam(long physAddr, long sizeBytes) {
        if (sizeBytes != 0) {
            memory.ram().require(physAddr, sizeBytes);
        }
    }

    private int step(long physAddr, long sizeBytes) {
        return (int) Addresses.min(sizeBytes, lines.lineBytes() - lines.offsetOf(physAddr));
    }

    // ---- what devices do

    /**
     * Lets a device that snoops reach memory: the lines in the way are written back before, and dropped if it writes.
     *
     * @param physAddr the first byte it reaches
     * @param sizeBytes how many
     * @param writes whether it writes
     * @param access the access; nothing else reaches the cache meanwhile
     * @return what the access returns
     */
    synchronized long snoop(long physAddr, long sizeBytes, boolean writes, LongSupplier access) {
        if (writes) {
            lines.flush(physAddr, sizeBytes);
        } else {
            lines.clean(physAddr, sizeBytes);
        }
        return access.getAsLong();
    }

    // ---- maintenance

    /**
     * Writes back the lines that a range touches, and keeps them.
     *
     * @param physAddr first byte
     * @param sizeBytes length
     */
    public synchronized void clean(long physAddr, long sizeBytes) {
        lines.clean(physAddr, sizeBytes);
    }

    /**
     * Drops the lines that lie in a range, whatever the CPU wrote to them. A line that lies there only in part is
     * written back first: the bytes beside the range are not the range's to lose.
     *
     * @param physAddr first byte
     * @param sizeBytes length
     */
    public synchronized void invalidate(long physAddr, long sizeBytes) {
        lines.invalidate(physAddr, sizeBytes);
    }

    /**
     * Writes back the lines that a range touches, and drops them.
     *
     * @param physAddr first byte
     * @param sizeBytes length
     */
    public synchronized void flush(long physAddr, long sizeBytes) {
        lines.flush(physAddr, sizeBytes);
    }

    /** Writes back all lines and drops them. */
    public synchronized void flushAll() {
        lines.flushAll();
    }

    // ---- what there is to see

    /**
     * Bytes of a line.
     *
     * @return a power of two
     */
    public int lineBytes() {
        return lines.lineBytes();
    }

    /**
     * Whether a byte is in the cache.
     *
     * @param physAddr its address
     * @return true when a read of it would not reach memory
     */
    public synchronized boolean isCached(long physAddr) {
        return lines.find(physAddr) != null;
    }

    /**
     * Whether a byte is in a line that the CPU wrote and memory has not seen.
     *
     * @param physAddr its address
     * @return true until the line is cleaned
     */
    public synchronized boolean isDirty(long physAddr) {
        CacheLines.Line line = lines.find(physAddr);
        return line != null && line.isDirty();
    }

    /**
     * How many lines the cache holds.
     *
     * @return at most what its options say
     */
    public synchronized int cachedLines() {
        return lines.count();
    }

    /**
     * How many lines were brought in.
     *
     * @return the count since the machine was made
     */
    public synchronized long fills() {
        return lines.fills();
    }

    /**
     * How many lines were written back.
     *
     * @return the count since the machine was made
     */
    public synchronized long writeBacks() {
        return lines.writeBacks();
    }

    /**
     * How many reads of the CPU found a line that it had not written and that memory contradicted: a device wrote
     * around the cache, and no sync came in between.
     *
     * @return the count since the machine was made, one for each line of a read
     */
    public synchronized long staleReads() {
        return staleReads;
    }

    /**
     * Where the latest stale read was.
     *
     * @return the first byte read of that line, all ones when there was none
     */
    public synchronized long lastStalePhysAddr() {
        return lastStalePhysAddr;
    }

    /**
     * How many lines were dropped by {@link #invalidate} although the CPU had written them: it touched a buffer that
     * belonged to a device.
     *
     * @return the count since the machine was made
     */
    public synchronized long lostWrites() {
        return lines.lostWrites();
    }
}
