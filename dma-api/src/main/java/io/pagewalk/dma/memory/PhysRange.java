package io.pagewalk.dma.memory;

/**
 * A range of physical addresses that is not empty.
 *
 * @param first its first byte, unsigned
 * @param last its last byte, unsigned and not below {@code first}
 */
public record PhysRange(long first, long last) {

    /**
     * Checks the order of the two ends.
     *
     * @param first the first byte
     * @param last the last byte
     * @throws IllegalArgumentException if {@code last} is below {@code first}
     */
    public PhysRange {
        if (Addresses.lessThan(last, first)) {
            throw new IllegalArgumentException(
                    "range ends at " + Addresses.hex(last) + ", before its start " + Addresses.hex(first));
        }
    }

    /**
     * Makes a range from its start and size.
     *
     * @param first its first byte
     * @param sizeBytes its bytes, not zero
     * @return the range
     * @throws IllegalArgumentException if the size is zero or the range passes 2^64
     */
    public static PhysRange ofSize(long first, long sizeBytes) {
        if (sizeBytes == 0) {
            throw new IllegalArgumentException("range at " + Addresses.hex(first) + " has no bytes");
        }
        return new PhysRange(first, Addresses.last(first, sizeBytes));
    }

    /**
     * Gives the size.
     *
     * @return bytes of the range, unsigned; 0 stands for 2^64
     */
    public long sizeBytes() {
        return last - first + 1;
    }

    @Override
    public String toString() {
        return "[" + Addresses.hex(first) + ", " + Addresses.hex(last) + "]";
    }
}
