package io.pagewalk.rdma.umem;

/** Memory that could not be registered, as the convenience API throws it; the primitive returns an errno instead. */
public final class UmemException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The cause. */
    private final UmemFailure failure;

    /**
     * Makes the exception of a failure.
     *
     * @param what what was tried, with its numbers
     * @param failure the cause
     */
    public UmemException(String what, UmemFailure failure) {
        super(what + ": " + failure);
        this.failure = failure;
    }

    /**
     * The cause with its numbers.
     *
     * @return the failure
     */
    public UmemFailure failure() {
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
