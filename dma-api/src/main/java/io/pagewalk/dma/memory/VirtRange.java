package io.pagewalk.dma.memory;

/**
 * A range of kernel virtual addresses that is not empty.
 *
 * @param first its first byte, unsigned
 * @param last its last byte, unsigned and not below {@code first}
 */
public record VirtRange(long first, long last) {

    /**
     * Checks the order of the two ends.
     *
     * @param first the first byte
     * @param last the last byte
     * @throws IllegalArgumentException if {@code last} is below {@code first}
     */
    public VirtRange {
        if (Addresses.lessThan(last, first)) {
            throw new IllegalArgumentException(
                    "range ends at " + Addresses.hex(last) + ", before its start " + Addresses.hex(first));
        }
    }

    /**
     * Says whether an address lies in the range.
     *
     * @param virtAddr a virtual address
     * @return true if it is neither below the first byte nor above the last
     */
    public boolean contains(long virtAddr) {
        return Addresses.lessOrEqual(virtAddr - first, last - first);
    }

    @Override
    public String toString() {
        return "[" + Addresses.hex(first) + ", " + Addresses.hex(last) + "]";
    }
}
