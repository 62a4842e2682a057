package io.pagewalk.trace;

import org.jspecify.annotations.Nullable;

/** Reads the text of one kind of event; the cursor stands on its first byte. */
@FunctionalInterface
interface BodyParser {

    /** Returns the event, or null when the line is none of ours after all. */
    @Nullable TraceEvent parse(TraceHeader header, LineCursor cursor) throws LineFormatException;
}
