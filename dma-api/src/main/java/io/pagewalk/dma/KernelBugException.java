package io.pagewalk.dma;

/** What the kernel would stop at: a BUG. The machine must not be used after it. */
public final class KernelBugException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message the broken rule with its numbers
     */
    public KernelBugException(String message) {
        super(message);
    }
}
