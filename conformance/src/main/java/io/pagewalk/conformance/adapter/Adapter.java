package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.Question;

/**
 * Answers the lines of one boot, in their order, by asking the library. An adapter sees what a line asks, never what
 * was recorded.
 */
public interface Adapter extends AutoCloseable {
    /**
     * Answers the line that opened the boot.
     *
     * @return what the library says of the device
     */
    Answers boot();

    /**
     * Answers a line.
     *
     * @param kind which kind of line it is in its family
     * @param question what it asks
     * @return what the library does
     */
    Answers answer(String kind, Question question);

    @Override
    default void close() {}
}
