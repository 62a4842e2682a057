package io.pagewalk.trace.replay;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * What a replay writes: bytes that depend on where they stand and on a salt, so that a byte from another place, or from
 * an earlier mapping of the same place, is not the right one.
 */
final class Pattern {
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long GOLDEN = 0x9e37_79b9_7f4a_7c15L;

    private Pattern() {}

    /** Fills a buffer from index 0 with the bytes of a range of physical memory. */
    static void fill(byte[] buffer, int lengthBytes, long physAddr, long salt) {
        int at = 0;
        while (at < lengthBytes && ((physAddr + at) & 7) != 0) {
            buffer[at] = at(physAddr + at, salt);
            at++;
        }
        long word = (physAddr + at) >>> 3;
        for (; at + Long.BYTES <= lengthBytes; at += Long.BYTES) {
            LONGS.set(buffer, at, mix(word++, salt));
        }
        for (; at < lengthBytes; at++) {
            buffer[at] = at(physAddr + at, salt);
        }
    }

    private static byte at(long physAddr, long salt) {
        return (byte) (mix(physAddr >>> 3, salt) >>> (8 * (physAddr & 7)));
    }

    /** A well-spread word of another one. */
    static long mix(long word, long salt) {
        long spread = (word ^ salt) * GOLDEN;
        spread ^= spread >>> 29;
        spread *= GOLDEN;
        return spread ^ (spread >>> 32);
    }
}
