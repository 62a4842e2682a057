package io.pagewalk.dma.debug;

/**
 * An entry of a list in a call: what the CPU and what the device has there.
 *
 * @param physAddr first byte of the CPU's entry
 * @param lengthBytes length of the CPU's entry; 0 when the input does not say
 * @param dmaAddr the DMA address that the entry shows
 * @param dmaLengthBytes the DMA length that it shows
 */
public record Segment(long physAddr, long lengthBytes, long dmaAddr, long dmaLengthBytes) {
    /** Refuses a negative count of a list's entries. */
    static void requireCount(String what, int count) {
        if (count < 0) {
            throw new IllegalArgumentException("a list has 0 " + what + " or more, not " + count);
        }
    }
}
