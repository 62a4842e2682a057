package io.pagewalk.dma.memory;

/**
 * How large the CPUs' cache is. Immutable.
 *
 * @param lineBytes bytes of a line, a power of two from 8 to 4096
 * @param lines how many lines it holds, at least 1; one more makes it write back and drop the line used longest ago
 */
public record CpuCacheOptions(int lineBytes, int lines) {
    /** 512 KiB in lines of 64 bytes. */
    public static final CpuCacheOptions DEFAULT = new CpuCacheOptions(64, 8192);

    private static final int MOST_LINE_BYTES = 4096;

    /**
     * Checks the numbers.
     *
     * @param lineBytes bytes of a line
     * @param lines how many lines it holds
     * @throws IllegalArgumentException if one is out of its bounds
     */
    public CpuCacheOptions {
        if (lineBytes < Long.BYTES || lineBytes > MOST_LINE_BYTES || Integer.bitCount(lineBytes) != 1) {
            throw new IllegalArgumentException(
                    "a cache line has a power of two from 8 to " + MOST_LINE_BYTES + " bytes, not " + lineBytes);
        }
        if (lines < 1) {
            throw new IllegalArgumentException("a cache holds at least 1 line, not " + lines);
        }
    }
}
