package io.pagewalk.trace;

import java.io.IOException;

/** A line that cannot be read, met by a pedantic reader. The message is {@code file:line: reason}. */
public final class TraceFormatException extends IOException {
    private static final long serialVersionUID = 1L;

    private final BadLine line;

    TraceFormatException(BadLine line) {
        super(line.message());
        this.line = line;
    }

    /**
     * Returns the line that stopped the reader.
     *
     * @return the line and what is wrong with it
     */
    public BadLine line() {
        return line;
    }
}
