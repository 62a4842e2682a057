package io.pagewalk.rdma.rxe;

import java.util.SplittableRandom;

/**
 * Where the low byte of a new key comes from: at random, or in a 5.x kernel from a shift register of eight bits that
 * all devices would share. Thread-safe. Implements rdma:RXE-7, RXE-8.
 */
final class KeyBytes {
    private static final int BYTE = 0xff;

    private final boolean shifting;
    private final SplittableRandom random;
    private int register = 1;

    KeyBytes(boolean shifting, long seed) {
        this.shifting = shifting;
        random = new SplittableRandom(seed);
    }

    synchronized int next() {
        return shifting ? shift() : random.nextInt(BYTE + 1);
    }

    /** The new bit 0 is the parity of bits 8, 7, 6 and 4 after the shift. */
    private int shift() {
        int shifted = register << 1;
        int bit = (shifted >>> 8 ^ shifted >>> 7 ^ shifted >>> 6 ^ shifted >>> 4) & 1;
        register = (shifted | bit) & BYTE;
        return register;
    }
}
