package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import java.util.Objects;

/**
 * Copies bytes between lists and buffers, and zeroes them, as the CPU does. Implements dma-core:SGH-3. A list's bytes
 * are those of its entries in order, up to the entries asked for or to END.
 *
 * <p>An entry outside RAM throws {@link IllegalArgumentException}; the bytes before it have been moved then.
 */
public final class SgBuffers {
    private SgBuffers() {}

    /**
     * {@code sg_pcopy_to_buffer}, and with nothing skipped {@code sg_copy_to_buffer}: copies out of a list.
     *
     * @param memory the CPU's view of the memory
     * @param sg the list
     * @param nents how many of its entries at most
     * @param buffer takes the bytes
     * @param offset where they go in the buffer
     * @param length how many at most
     * @param skipBytes how many bytes of the list to leave out
     * @return how many were copied: the rest of the list or the length, 0 when more is skipped than there is
     * @throws IllegalArgumentException when a number is negative
     * @throws IndexOutOfBoundsException when the buffer has no such part
     */
    public static int copyToBuffer(
            CpuMemory memory, SgTable sg, int nents, byte[] buffer, int offset, int length, long skipBytes) {
        Objects.checkFromIndexSize(offset, length, buffer.length);
        SgMappingIter pieces = new SgMappingIter().start(sg, nents);
        int done = 0;
        if (pieces.skip(skipBytes)) {
            while (done < length && pieces.next()) {
                int size = (int) Math.min(pieces.sizeBytes(), length - done);
                memory.read(pieces.physAddr(), buffer, offset + done, size);
                done += size;
            }
        }
        return done;
    }

    /**
     * {@code sg_pcopy_from_buffer}, and with nothing skipped {@code sg_copy_from_buffer}: copies into a list.
     *
     * @param memory the CPU's view of the memory
     * @param sg the list
     * @param nents how many of its entries at most
     * @param buffer has the bytes
     * @param offset where they begin in the buffer
     * @param length how many at most
     * @param skipBytes how many bytes of the list to leave out
     * @return how many were copied: the rest of the list or the length, 0 when more is skipped than there is
     * @throws IllegalArgumentException when a number is negative
     * @throws IndexOutOfBoundsException when the buffer has no such part
     */
    public static int copyFromBuffer(
            CpuMemory memory, SgTable sg, int nents, byte[] buffer, int offset, int length, long skipBytes) {
        Objects.checkFromIndexSize(offset, length, buffer.length);
        SgMappingIter pieces = new SgMappingIter().start(sg, nents);
        int done = 0;
        if (pieces.skip(skipBytes)) {
            while (done < length && pieces.next()) {
                int size = (int) Math.min(pieces.sizeBytes(), length - done);
                memory.write(pieces.physAddr(), buffer, offset + done, size);
                done += size;
            }
        }
        return done;
    }

    /**
     * {@code sg_zero_buffer}: zeroes bytes of a list.
     *
     * @param memory the CPU's view of the memory
     * @param sg the list
     * @param nents how many of its entries at most
     * @param lengthBytes how many at most, unsigned
     * @param skipBytes how many bytes of the list to leave out
     * @return how many were zeroed: the rest of the list or the length, 0 when more is skipped than there is
     * @throws IllegalArgumentException when a number is negative
     */
    public static long zeroBuffer(CpuMemory memory, SgTable sg, int nents, long lengthBytes, long skipBytes) {
        SgMappingIter pieces = new SgMappingIter().start(sg, nents);
        long done = 0;
        if (pieces.skip(skipBytes)) {
            while (Addresses.lessThan(done, lengthBytes) && pieces.next()) {
                long size = Addresses.min(pieces.sizeBytes(), lengthBytes - done);
                memory.zero(pieces.physAddr(), size);
                done += size;
            }
        }
        return done;
    }
}
