package io.pagewalk.dma.memory;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Accesses that may cross chunks, or meet chunks nobody has touched: out of line, piece by piece. Everything is checked
 * before anything is changed. Allocates nothing but the chunks that come to be written.
 */
final class BulkAccess {

    /** A fill stores this much byte by byte and then copies what it has, twice as much each time. */
    private static final int FILL_SEED = 64;

    private final RamMap ram;
    private final ChunkTable chunks;
    private final int chunkMask;

    BulkAccess(RamMap ram, ChunkTable chunks) {
        this.ram = ram;
        this.chunks = chunks;
        this.chunkMask = chunks.chunkSizeBytes() - 1;
    }

    // ---- to and from Java's memory

    void read(long physAddr, byte[] dst, int dstOffset, int length) {
        Objects.checkFromIndexSize(dstOffset, length, dst.length);
        ram.require(physAddr, length);
        int done = 0;
        while (done < length) {
            int step = stepFrom(physAddr + done, length - done);
            readPiece(physAddr + done, dst, dstOffset + done, step);
            done += step;
        }
    }

    private void readPiece(long physAddr, byte[] dst, int dstOffset, int length) {
        ByteBuffer chunk = found(physAddr);
        if (chunk == null) {
            Arrays.fill(dst, dstOffset, dstOffset + length, (byte) 0);
        } else {
            chunk.get(offsetOf(physAddr), dst, dstOffset, length);
        }
    }

    void read(long physAddr, ByteBuffer dst, int dstOffset, int length) {
        Objects.checkFromIndexSize(dstOffset, length, dst.limit());
        ram.require(physAddr, length);
        int done = 0;
        while (done < length) {
            int step = stepFrom(physAddr + done, length - done);
            readPiece(physAddr + done, dst, dstOffset + done, step);
            done += step;
        }
    }

    private void readPiece(long physAddr, ByteBuffer dst, int dstOffset, int length) {
        ByteBuffer chunk = found(physAddr);
        if (chunk == null) {
            ZeroBlock.zero(dst, dstOffset, length);
        } else {
            dst.put(dstOffset, chunk, offsetOf(physAddr), length);
        }
    }

    void write(long physAddr, byte[] src, int srcOffset, int length) {
        Objects.checkFromIndexSize(srcOffset, length, src.length);
        ram.require(physAddr, length);
        int done = 0;
        while (done < length) {
            int step = stepFrom(physAddr + done, length - done);
            touched(physAddr + done).put(offsetOf(physAddr + done), src, srcOffset + done, step);
            done += step;
        }
    }

    void write(long physAddr, ByteBuffer src, int srcOffset, int length) {
        Objects.checkFromIndexSize(srcOffset, length, src.limit());
        ram.require(physAddr, length);
        int done = 0;
        while (done < length) {
            int step = stepFrom(physAddr + done, length - done);
            touched(physAddr + done).put(offsetOf(physAddr + done), src, srcOffset + done, step);
            done += step;
        }
    }

    // ---- inside memory

    void copy(long srcPhysAddr, long dstPhysAddr, long sizeBytes) {
        ram.require(srcPhysAddr, sizeBytes);
        ram.require(dstPhysAddr, sizeBytes);
        if (Addresses.lessThan(dstPhysAddr - srcPhysAddr, sizeBytes)) {
            copyBackward(srcPhysAddr, dstPhysAddr, sizeBytes);
        } else {
            copyForward(srcPhysAddr, dstPhysAddr, sizeBytes);
        }
    }

    private void copyForward(long srcPhysAddr, long dstPhysAddr, long sizeBytes) {
        long done = 0;
        while (done < sizeBytes) {
            long left = sizeBytes - done;
            int step = Math.min(stepFrom(srcPhysAddr + done, left), stepFrom(dstPhysAddr + done, left));
            copyPiece(srcPhysAddr + done, dstPhysAddr + done, step);
            done += step;
        }
    }

    /**
     * Copies the last piece first: the destination begins inside the source and would overwrite what is still to be
     * read.
     */
    private void copyBackward(long srcPhysAddr, long dstPhysAddr, long sizeBytes) {
        long left = sizeBytes;
        while (left > 0) {
            int step = Math.min(stepUpTo(srcPhysAddr + left, left), stepUpTo(dstPhysAddr + left, left));
            left -= step;
            copyPiece(srcPhysAddr + left, dstPhysAddr + left, step);
        }
    }

    /** Copies inside one chunk at either end; an absolute put behaves like memmove if both are the same buffer. */
    private void copyPiece(long srcPhysAddr, long dstPhysAddr, int length) {
        ByteBuffer src = found(srcPhysAddr);
        if (src == null) {
            zeroPiece(dstPhysAddr, length);
        } else {
            touched(dstPhysAddr).put(offsetOf(dstPhysAddr), src, offsetOf(srcPhysAddr), length);
        }
    }

    void zero(long physAddr, long sizeBytes) {
        ram.require(physAddr, sizeBytes);
        long done = 0;
        while (done < sizeBytes) {
            int step = stepFrom(physAddr + done, sizeBytes - done);
            zeroPiece(physAddr + done, step);
            done += step;
        }
    }

    private void zeroPiece(long physAddr, int length) {
        ByteBuffer chunk = found(physAddr);
        if (chunk != null) {
            ZeroBlock.zero(chunk, offsetOf(physAddr), length);
        }
    }

    void fill(long physAddr, long sizeBytes, byte value) {
        ram.require(physAddr, sizeBytes);
        long done = 0;
        while (done < sizeBytes) {
            int step = stepFrom(physAddr + done, sizeBytes - done);
            fillPiece(touched(physAddr + done), offsetOf(physAddr + done), step, value);
            done += step;
        }
    }

    private static void fillPiece(ByteBuffer chunk, int index, int length, byte value) {
        int done = Math.min(length, FILL_SEED);
        for (int i = 0; i < done; i++) {
            chunk.put(index + i, value);
        }
        while (done < length) {
            int step = Math.min(done, length - done);
            chunk.put(index + done, chunk, index, step);
            done += step;
        }
    }

    void discard(long physAddr, long sizeBytes) {
        ram.require(physAddr, sizeBytes);
        long end = physAddr + sizeBytes;
        long firstWhole = Addresses.alignUp(physAddr, chunks.chunkSizeBytes());
        long endWhole = Addresses.alignDown(end, chunks.chunkSizeBytes());
        if (Addresses.lessOrEqual(endWhole, firstWhole)) {
            zero(physAddr, sizeBytes);
            return;
        }
        zero(physAddr, firstWhole - physAddr);
        chunks.release(chunks.indexOf(firstWhole), chunks.indexOf(endWhole - 1));
        zero(endWhole, end - endWhole);
    }

    // ---- comparing

    int mismatch(long physAddr, byte[] expected, int index, int length) {
        Objects.checkFromIndexSize(index, length, expected.length);
        ram.require(physAddr, length);
        int done = 0;
        while (done < length) {
            int step = stepFrom(physAddr + done, length - done);
            int differs = mismatchInPiece(physAddr + done, expected, index + done, step);
            if (differs >= 0) {
                return done + differs;
            }
            done += step;
        }
        return -1;
    }

    private int mismatchInPiece(long physAddr, byte[] expected, int index, int length) {
        ByteBuffer chunk = found(physAddr);
        return chunk == null
                ? firstNonZero(expected, index, length)
                : firstDifference(chunk, offsetOf(physAddr), expected, index, length);
    }

    private static int firstNonZero(byte[] expected, int index, int length) {
        int i = 0;
        while (i < length && expected[index + i] == 0) {
            i++;
        }
        return i < length ? i : -1;
    }

    private static int firstDifference(ByteBuffer chunk, int offset, byte[] expected, int index, int length) {
        int i = 0;
        while (i + Long.BYTES <= length
                && (long) Words.LONG.get(chunk, offset + i) == (long) Words.ARRAY_LONG.get(expected, index + i)) {
            i += Long.BYTES;
        }
        while (i < length && chunk.get(offset + i) == expected[index + i]) {
            i++;
        }
        return i < length ? i : -1;
    }

    // ---- pieces

    private @Nullable ByteBuffer found(long physAddr) {
        return chunks.find(chunks.indexOf(physAddr));
    }

    private ByteBuffer touched(long physAddr) {
        return chunks.touch(chunks.indexOf(physAddr));
    }

    private int offsetOf(long physAddr) {
        return (int) physAddr & chunkMask;
    }

    /** How many bytes from here on are wanted and lie in this chunk. */
    private int stepFrom(long physAddr, long wanted) {
        return (int) Math.min(wanted, chunkMask + 1 - offsetOf(physAddr));
    }

    /** How many bytes up to here (exclusive) are wanted and lie in the chunk of the last of them. */
    private int stepUpTo(long endPhysAddr, long wanted) {
        return (int) Math.min(wanted, offsetOf(endPhysAddr - 1) + 1);
    }
}
