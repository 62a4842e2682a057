package io.pagewalk.cli;

/** What the command's exit status means; the numbers above 63 are those of {@code sysexits.h}. */
final class ExitStatus {
    /** All is well; a mapping that failed is a result, not an error. */
    static final int OK = 0;
    /** Data did not match, an invariant broke, misuse was found, or a buffer cannot be registered. */
    static final int MISMATCH = 1;
    /** The command was used wrongly. */
    static final int USAGE = 2;
    /** The input cannot be read, or the output not be written. */
    static final int NO_INPUT = 66;
    /** A fault of ours. */
    static final int SOFTWARE = 70;

    private ExitStatus() {}
}
