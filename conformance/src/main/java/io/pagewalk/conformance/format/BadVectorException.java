package io.pagewalk.conformance.format;

/** A line that is no vector: malformed, of an unknown kind, with a field too many or too few, or of a wrong type. */
public final class BadVectorException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Says what is wrong.
     *
     * @param message one line
     */
    public BadVectorException(String message) {
        super(message);
    }
}
