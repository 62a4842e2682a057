package io.pagewalk.dma;

/** What the kernel WARNs about, on a machine whose log was told to make warnings fatal. */
public final class KernelWarnException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the exception.
     *
     * @param message the warning
     */
    public KernelWarnException(String message) {
        super(message);
    }
}
