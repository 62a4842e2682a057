package io.pagewalk.trace;

/** Tells, inside this package, why a line cannot be read. Without a stack: a damaged trace may hold millions. */
final class LineFormatException extends Exception {
    private static final long serialVersionUID = 1L;

    private final String reason;

    LineFormatException(String reason) {
        super(reason, null, false, false);
        this.reason = reason;
    }

    String reason() {
        return reason;
    }
}
