package io.pagewalk.dma;

/**
 * A place where the kernel could run out of something. Its owner asks {@link #fails()} each time it passes.
 *
 * <p>Thread-safe; costs one read when nothing is armed.
 */
public final class FailurePoint {
    private final FailureInjection injection;
    private final String name;

    FailurePoint(FailureInjection injection, String name) {
        this.injection = injection;
        this.name = name;
    }

    /**
     * Passes the point.
     *
     * @return true when the owner has to behave as though the resource were exhausted
     */
    public boolean fails() {
        return injection.isArmed() && injection.pass(this);
    }

    /**
     * The point's name.
     *
     * @return for instance {@code swiotlb.slots}
     */
    public String name() {
        return name;
    }
}
