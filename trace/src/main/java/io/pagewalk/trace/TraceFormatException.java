package io.pagewalk.trace;

import java.io.IOException;

/** A line that cannot be read, met by a pedantic reader. The message is {@code file:line: reason}. */
public final class TraceFormatException extends IOException {
    private static final long serialVersionUID = 1L;

    /** Name of the trace. */
    private final String file;

    /** Number of the line, from 1. */
    private final long lineNumber;

    /** The line, clipped. */
    private final String text;

    /** What is wrong with it. */
    private final String reason;

    TraceFormatException(BadLine line) {
        super(line.message());
        this.file = line.file();
        this.lineNumber = line.lineNumber();
        this.text = line.text();
        this.reason = line.reason();
    }

    /**
     * Returns the line that stopped the reader.
     *
     * @return the line and what is wrong with it
     */
    public BadLine line() {
        return new BadLine(file, lineNumber, text, reason);
    }
}
