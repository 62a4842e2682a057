package io.pagewalk.trace.replay;

/** A machine file that cannot be used. The message is one line: file, field and what is wrong with it. */
public final class MachineSpecException extends Exception {
    private static final long serialVersionUID = 1L;

    MachineSpecException(String file, String field, String problem) {
        super(file + ": " + (field.isEmpty() ? "" : field + ": ") + problem);
    }
}
