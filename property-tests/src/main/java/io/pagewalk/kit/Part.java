package io.pagewalk.kit;

/**
 * A part of a buffer of any size, as shares of it: so it fits the buffer it meets.
 *
 * @param from where it starts, 0 to {@link #WHOLE}
 * @param length how much of the rest it takes, 0 to {@link #WHOLE}
 */
public record Part(int from, int length) {
    /** The share that means everything. */
    public static final int WHOLE = 1024;

    /** All of a buffer. */
    public static final Part ALL = new Part(0, WHOLE);

    /**
     * Checks the shares.
     *
     * @param from where it starts
     * @param length how much of the rest it takes
     */
    public Part {
        if (from < 0 || from > WHOLE || length < 0 || length > WHOLE) {
            throw new IllegalArgumentException("shares go from 0 to " + WHOLE + ", not " + from + " and " + length);
        }
    }

    /**
     * Another part, made of the same shares.
     *
     * @return the part with its shares exchanged
     */
    public Part other() {
        return new Part(/* from= */ length, /* length= */ from);
    }

    /**
     * The first byte of the part.
     *
     * @param sizeBytes the buffer's length, at least 1
     * @return an offset inside it
     */
    public int offset(int sizeBytes) {
        return (int) ((long) (sizeBytes - 1) * from / WHOLE);
    }

    /**
     * The bytes of the part.
     *
     * @param sizeBytes the buffer's length, at least 1
     * @return at least 1, and not past the end
     */
    public int sizeBytes(int sizeBytes) {
        int rest = sizeBytes - offset(sizeBytes);
        return Math.max(1, (int) ((long) rest * length / WHOLE));
    }
}
