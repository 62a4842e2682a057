package io.pagewalk.backends.iommu.unit;

/**
 * The memory-mapped registers of a unit. Offsets are in bytes from the unit's base and aligned to the access.
 *
 * <p>Thread-safe, each access by itself. What a write starts is done when the write returns.
 */
public interface RegisterFile {
    /**
     * Reads 4 bytes.
     *
     * @param offset a multiple of 4
     * @return the register, or half of a 64-bit one; 0 where there is none
     */
    int read32(int offset);

    /**
     * Writes 4 bytes.
     *
     * @param offset a multiple of 4
     * @param value what to write; ignored where there is no writable register
     */
    void write32(int offset, int value);

    /**
     * Reads 8 bytes.
     *
     * @param offset a multiple of 8
     * @return the register, or two 32-bit ones, the one at the lower offset in the low half
     */
    long read64(int offset);

    /**
     * Writes 8 bytes.
     *
     * @param offset a multiple of 8
     * @param value what to write; ignored where there is no writable register
     */
    void write64(int offset, long value);
}
