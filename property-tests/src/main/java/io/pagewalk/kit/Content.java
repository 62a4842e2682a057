package io.pagewalk.kit;

/**
 * Bytes that tell where they belong: each is a function of its own position and of a salt, so that a byte that is
 * missing, late or one off shows.
 */
final class Content {
    private static final long GOLDEN = 0x9e37_79b9_7f4a_7c15L;

    private Content() {}

    /** {@code sizeBytes} bytes for the positions from {@code first} on. */
    static byte[] of(long salt, long first, int sizeBytes) {
        byte[] bytes = new byte[sizeBytes];
        long word = wordAt(salt, first);
        for (int i = 0; i < sizeBytes; i++) {
            long position = first + i;
            if ((position & 7) == 0) {
                word = wordAt(salt, position);
            }
            bytes[i] = (byte) (word >>> ((position & 7) * 8));
        }
        return bytes;
    }

    /** The eight bytes around a position. */
    private static long wordAt(long salt, long position) {
        long z = ((position >>> 3) + salt * GOLDEN) * 0xbf58_476d_1ce4_e5b9L;
        return (z ^ (z >>> 29)) * GOLDEN;
    }
}
