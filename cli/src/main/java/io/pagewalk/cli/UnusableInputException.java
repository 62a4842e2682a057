package io.pagewalk.cli;

/** Input that can be read but not used; its message is one line that names the file and the cause. */
final class UnusableInputException extends Exception {
    private static final long serialVersionUID = 1L;

    UnusableInputException(String message) {
        super(message);
    }

    UnusableInputException(String message, Throwable cause) {
        super(message, cause);
    }
}
