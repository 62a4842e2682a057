package io.pagewalk.dma;

/** A hazard on a machine on which hazards are fatal. */
public final class KernelHazardException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /**
     * Makes the exception.
     *
     * @param message which hazard, with its numbers
     */
    public KernelHazardException(String message) {
        super(message);
    }
}
