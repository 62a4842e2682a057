package io.pagewalk.stress;

/** What became of an access that expected one page, or nothing. */
enum Walk {
    /** No translation, because an entry on the way is not present. */
    NOTHING,
    /** The page, with the bytes that software had written before it mapped it. */
    PAGE,
    /** The page, but bytes from before. */
    STALE_BYTES,
    /** Some other memory. */
    ELSEWHERE,
    /** A fault that no table of a careful driver causes. */
    OTHER_FAULT
}
