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
     * Passes the point, for an owner that gives up a call of the DMA API when it fails: the cause that the call then
     * notes is {@link FailureReason#INJECTED}, whatever it would have been.
     *
     * @return true when the owner has to behave as though the resource were exhausted
     */
    public boolean failsCall() {
        if (!fails()) {
            return false;
        }
        injection.isCauseOfThisCall();
        return true;
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
