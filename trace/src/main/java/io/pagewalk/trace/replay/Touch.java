package io.pagewalk.trace.replay;

/** How much of each buffer a replay moves and compares. */
public enum Touch {
    /** The first and the last 64 bytes of each segment. */
    EDGES,
    /** Every byte. */
    FULL;

    /** Bytes at either end of a segment that {@link #EDGES} touches. */
    public static final int EDGE_BYTES = 64;
}
