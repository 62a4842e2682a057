package io.pagewalk.dma.memory;

/**
 * Arithmetic of addresses, sizes and masks, all of which are unsigned 64-bit {@code long}s. Implements dma-core:TYP-4
 * and dma-core:TYP-10.
 *
 * <p>A range is (first, sizeBytes) or (first, last) with an inclusive last byte, never an exclusive end, which would
 * overflow at 2^64. A range of zero bytes overlaps nothing and lies inside every range. A range whose last byte would
 * lie beyond 2^64-1 wraps around, and its bytes are then those of both parts.
 */
public final class Addresses {

    /** Binary logarithm of {@link #PAGE_SIZE}. */
    public static final int PAGE_SHIFT = 12;

    /** Bytes of one page frame. */
    public static final long PAGE_SIZE = 1L << PAGE_SHIFT;

    /** The bits of an address that name its page frame, as the kernel has it: {@code ~(PAGE_SIZE - 1)}. */
    public static final long PAGE_MASK = -PAGE_SIZE;

    /** What {@link #order} answers for zero bytes: an order that no allocator has (dma-core:TYP-10). */
    private static final int ORDER_OF_NOTHING = 52;

    private Addresses() {}

    /**
     * Compares two unsigned values.
     *
     * @param a an address, size or mask
     * @param b another one
     * @return true if {@code a} is below {@code b}
     */
    public static boolean lessThan(long a, long b) {
        return Long.compareUnsigned(a, b) < 0;
    }

    /**
     * Compares two unsigned values.
     *
     * @param a an address, size or mask
     * @param b another one
     * @return true if {@code a} is below {@code b} or equal to it
     */
    public static boolean lessOrEqual(long a, long b) {
        return Long.compareUnsigned(a, b) <= 0;
    }

    /**
     * Gives the smaller of two unsigned values.
     *
     * @param a an address, size or mask
     * @param b another one
     * @return the smaller one
     */
    public static long min(long a, long b) {
        return lessThan(a, b) ? a : b;
    }

    /**
     * Gives the larger of two unsigned values.
     *
     * @param a an address, size or mask
     * @param b another one
     * @return the larger one
     */
    public static long max(long a, long b) {
        return lessThan(a, b) ? b : a;
    }

    /**
     * Gives the smaller of two limits of which zero means "none": the kernel's {@code min_not_zero}.
     *
     * @param a a limit, 0 if there is none
     * @param b another limit, 0 if there is none
     * @return the smaller limit that is not zero, or 0 if both are
     */
    public static long minNotZero(long a, long b) {
        if (a == 0) {
            return b;
        }
        return b == 0 ? a : min(a, b);
    }

    /**
     * Gives the last byte of a range.
     *
     * @param first the first byte of the range
     * @param sizeBytes bytes of the range, not zero
     * @return the last byte, modulo 2^64
     */
    public static long last(long first, long sizeBytes) {
        return first + sizeBytes - 1;
    }

    /**
     * Says whether two ranges have a byte in common.
     *
     * @param first1 the first byte of one range
     * @param size1 bytes of that range
     * @param first2 the first byte of the other range
     * @param size2 bytes of that range
     * @return true if some byte lies in both, which is never so if one of them is empty
     */
    public static boolean overlaps(long first1, long size1, long first2, long size2) {
        if (size1 == 0 || size2 == 0) {
            return false;
        }
        return lessThan(first2 - first1, size1) || lessThan(first1 - first2, size2);
    }

    /**
     * Says whether a range holds the whole of another one.
     *
     * @param first the first byte of the outer range
     * @param sizeBytes bytes of the outer range
     * @param innerFirst the first byte of the inner range
     * @param innerSizeBytes bytes of the inner range
     * @return true if every byte of the inner range lies in the outer one, which is always so if the inner one is empty
     */
    public static boolean contains(long first, long sizeBytes, long innerFirst, long innerSizeBytes) {
        if (innerSizeBytes == 0) {
            return true;
        }
        return lessOrEqual(innerSizeBytes, sizeBytes) && lessOrEqual(innerFirst - first, sizeBytes - innerSizeBytes);
    }

    /**
     * Says whether a value is a multiple of a power of two.
     *
     * @param x an address or size
     * @param alignBytes the alignment, a power of two
     * @return true if {@code x} is a multiple of {@code alignBytes}
     */
    public static boolean isAligned(long x, long alignBytes) {
        return (x & (alignBytes - 1)) == 0;
    }

    /**
     * Rounds up to a multiple of a power of two: the kernel's {@code ALIGN}.
     *
     * @param x an address or size
     * @param alignBytes the alignment, a power of two
     * @return the least multiple of {@code alignBytes} not below {@code x}, modulo 2^64
     */
    public static long alignUp(long x, long alignBytes) {
        return (x + alignBytes - 1) & -alignBytes;
    }

    /**
     * Rounds down to a multiple of a power of two: the kernel's {@code ALIGN_DOWN}.
     *
     * @param x an address or size
     * @param alignBytes the alignment, a power of two
     * @return the largest multiple of {@code alignBytes} not above {@code x}
     */
    public static long alignDown(long x, long alignBytes) {
        return x & -alignBytes;
    }

    /**
     * Gives the mask of addresses that so many bits can name: the kernel's {@code DMA_BIT_MASK} (dma-core:TYP-4).
     *
     * @param bits the number of address bits, 0 to 64
     * @return a mask of that many low ones
     * @throws IllegalArgumentException if {@code bits} is outside 0 to 64
     */
    public static long bitMask(int bits) {
        if (bits < 0 || bits > Long.SIZE) {
            throw new IllegalArgumentException("a mask has 0 to 64 bits, not " + bits);
        }
        return bits == Long.SIZE ? -1L : (1L << bits) - 1;
    }

    /**
     * Gives the order of the page block that holds so many bytes: the kernel's {@code get_order} (dma-core:TYP-10).
     *
     * @param sizeBytes how many bytes to hold
     * @return the least order whose block of {@code PAGE_SIZE << order} bytes is large enough, or 52 for zero bytes, so
     *     that asking for nothing fails
     */
    public static int order(long sizeBytes) {
        if (sizeBytes == 0) {
            return ORDER_OF_NOTHING;
        }
        long lastPage = (sizeBytes - 1) >>> PAGE_SHIFT;
        return Long.SIZE - Long.numberOfLeadingZeros(lastPage);
    }

    /**
     * Writes an address, size or mask the way messages show it.
     *
     * @param value any value
     * @return its unsigned hexadecimal digits after {@code 0x}
     */
    public static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    /**
     * Writes a range the way messages show it.
     *
     * @param first the first byte of the range
     * @param sizeBytes bytes of the range
     * @return both numbers in the form {@code 0x1000+0x20}
     */
    public static String hexRange(long first, long sizeBytes) {
        return hex(first) + "+" + hex(sizeBytes);
    }
}
