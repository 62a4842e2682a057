package io.pagewalk.conformance;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** An input that holds no vectors or cannot be read on. The message is one line: the input's name and the cause. */
public final class UnusableVectorsException extends IOException {
    private static final long serialVersionUID = 1L;

    UnusableVectorsException(String name, String cause) {
        this(name, cause, null);
    }

    UnusableVectorsException(String name, String cause, @Nullable Throwable origin) {
        super(name + ": " + cause, origin);
    }
}
