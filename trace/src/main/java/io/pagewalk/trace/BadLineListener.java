package io.pagewalk.trace;

/** Hears of every line that a reader leaves out. Called on the reading thread, in the order of the lines. */
@FunctionalInterface
public interface BadLineListener {

    /**
     * Takes note of one bad line.
     *
     * @param line the line and what is wrong with it
     */
    void badLine(BadLine line);
}
