package io.pagewalk.dma.memory;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The scalar accesses of {@link PhysicalMemory} that its fast path leaves: those to chunks that nobody has touched, to
 * chunks at the edge of RAM, across chunks, and to what is not RAM at all.
 */
final class ScalarSlowPath {

    private final RamMap ram;
    private final ChunkTable chunks;
    private final int chunkSizeBytes;

    ScalarSlowPath(RamMap ram, ChunkTable chunks) {
        this.ram = ram;
        this.chunks = chunks;
        this.chunkSizeBytes = chunks.chunkSizeBytes();
    }

    long getLong(long physAddr) {
        ram.require(physAddr, Long.BYTES);
        if (crosses(physAddr, Long.BYTES)) {
            return gatherAcrossChunks(physAddr, Long.BYTES);
        }
        ByteBuffer chunk = found(physAddr);
        return chunk == null ? 0 : (long) Words.LONG.get(chunk, offsetOf(physAddr));
    }

    long getLongAcquire(long physAddr) {
        ram.require(physAddr, Long.BYTES);
        ByteBuffer chunk = found(physAddr);
        return chunk == null ? 0 : (long) Words.LONG.getAcquire(chunk, offsetOf(physAddr));
    }

    int getInt(long physAddr) {
        ram.require(physAddr, Integer.BYTES);
        if (crosses(physAddr, Integer.BYTES)) {
            return (int) gatherAcrossChunks(physAddr, Integer.BYTES);
        }
        ByteBuffer chunk = found(physAddr);
        return chunk == null ? 0 : (int) Words.INT.get(chunk, offsetOf(physAddr));
    }

    short getShort(long physAddr) {
        ram.require(physAddr, Short.BYTES);
        if (crosses(physAddr, Short.BYTES)) {
            return (short) gatherAcrossChunks(physAddr, Short.BYTES);
        }
        ByteBuffer chunk = found(physAddr);
        return chunk == null ? 0 : (short) Words.SHORT.get(chunk, offsetOf(physAddr));
    }

    byte getByte(long physAddr) {
        ram.require(physAddr, Byte.BYTES);
        return byteAt(physAddr);
    }

    void putLong(long physAddr, long value) {
        ram.require(physAddr, Long.BYTES);
        if (crosses(physAddr, Long.BYTES)) {
            scatterAcrossChunks(physAddr, value, Long.BYTES);
        } else {
            Words.LONG.set(touched(physAddr), offsetOf(physAddr), value);
        }
    }

    void putInt(long physAddr, int value) {
        ram.require(physAddr, Integer.BYTES);
        if (crosses(physAddr, Integer.BYTES)) {
            scatterAcrossChunks(physAddr, value, Integer.BYTES);
        } else {
            Words.INT.set(touched(physAddr), offsetOf(physAddr), value);
        }
    }

    void putShort(long physAddr, short value) {
        ram.require(physAddr, Short.BYTES);
        if (crosses(physAddr, Short.BYTES)) {
            scatterAcrossChunks(physAddr, value, Short.BYTES);
        } else {
            Words.SHORT.set(touched(physAddr), offsetOf(physAddr), value);
        }
    }

    /** Backs the chunk of an access that does not cross chunks. */
    ByteBuffer touchedChunk(long physAddr, int sizeBytes) {
        ram.require(physAddr, sizeBytes);
        return touched(physAddr);
    }

    private long gatherAcrossChunks(long physAddr, int sizeBytes) {
        long value = 0;
        for (int i = 0; i < sizeBytes; i++) {
            value |= (byteAt(physAddr + i) & 0xffL) << (i * Byte.SIZE);
        }
        return value;
    }

    private byte byteAt(long physAddr) {
        ByteBuffer chunk = found(physAddr);
        return chunk == null ? 0 : chunk.get(offsetOf(physAddr));
    }

    private void scatterAcrossChunks(long physAddr, long value, int sizeBytes) {
        for (int i = 0; i < sizeBytes; i++) {
            touched(physAddr + i).put(offsetOf(physAddr + i), (byte) (value >>> (i * Byte.SIZE)));
        }
    }

    private @Nullable ByteBuffer found(long physAddr) {
        return chunks.find(chunks.indexOf(physAddr));
    }

    private ByteBuffer touched(long physAddr) {
        return chunks.touch(chunks.indexOf(physAddr));
    }

    private int offsetOf(long physAddr) {
        return (int) physAddr & (chunkSizeBytes - 1);
    }

    private boolean crosses(long physAddr, int sizeBytes) {
        return offsetOf(physAddr) > chunkSizeBytes - sizeBytes;
    }
}
