package io.pagewalk.dma;

/**
 * A mapping or allocation that failed, as the convenience API throws it; the primitive API returns sentinels instead.
 */
public final class DmaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The cause. */
    private final DmaFailure failure;

    /**
     * Makes the exception of a failure.
     *
     * @param what what was tried, with its numbers
     * @param failure the cause
     */
    public DmaException(String what, DmaFailure failure) {
        super(what + ": " + failure);
        this.failure = failure;
    }

    /**
     * The cause with its numbers.
     *
     * @return the failure
     */
    public DmaFailure failure() {
        return failure;
    }

    /**
     * The error number.
     *
     * @return positive
     */
    public int errno() {
        return failure.errno();
    }
}
