package io.pagewalk.trace;

/**
 * A line that could not be read and was left out.
 *
 * @param file name of the trace
 * @param lineNumber number of the line, from 1
 * @param text the line, cut to {@value #MAX_TEXT_BYTES} bytes
 * @param reason what is wrong with it, with the column where that is known
 */
public record BadLine(String file, long lineNumber, String text, String reason) {

    /** Longest text kept of a bad line, in bytes. */
    public static final int MAX_TEXT_BYTES = 200;

    /**
     * Says it in one line.
     *
     * @return {@code file:line: reason}
     */
    public String message() {
        return file + ":" + lineNumber + ": " + reason;
    }
}
