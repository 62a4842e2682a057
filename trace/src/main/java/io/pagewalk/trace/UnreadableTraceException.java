package io.pagewalk.trace;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** An input that is no trace or cannot be read on. The message is one line: the input's name and the cause. */
public final class UnreadableTraceException extends IOException {
    private static final long serialVersionUID = 1L;

    UnreadableTraceException(String name, String cause) {
        this(name, cause, null);
    }

    UnreadableTraceException(String name, String cause, @Nullable Throwable origin) {
        super(name + ": " + cause, origin);
    }
}
