package io.pagewalk.trace.predict;

import java.io.IOException;

/**
 * Boot log, machine file and timer record together do not tell what a prediction needs, or contradict each other. The
 * message is one line that names file and cause.
 */
public final class MachineFactsException extends IOException {
    private static final long serialVersionUID = 1L;

    MachineFactsException(String file, String problem) {
        super(file + ": " + problem);
    }
}
