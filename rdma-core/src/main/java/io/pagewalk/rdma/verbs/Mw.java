package io.pagewalk.rdma.verbs;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A memory window, the kernel's {@code struct ib_mw}: a key for part of a region, bound and unbound by work requests.
 * Providers extend it. Implements rdma:MWC-1.
 */
public abstract class Mw {
    /** Bound by a verb; one key after another. */
    public static final int TYPE_1 = 1;

    /** Bound by a posted work request; invalidated before it is bound again. */
    public static final int TYPE_2 = 2;

    private final Pd pd;
    private final int type;
    private volatile int rkey;
    private Restrack.@Nullable Entry tracked;
    private boolean destroyed;

    /**
     * Makes a window without a key.
     *
     * @param pd its domain
     * @param type {@link #TYPE_1} or {@link #TYPE_2}
     */
    protected Mw(Pd pd, int type) {
        this.pd = Objects.requireNonNull(pd, "pd");
        this.type = type;
    }

    /**
     * The domain.
     *
     * @return which one it belongs to
     */
    public final Pd pd() {
        return pd;
    }

    /**
     * The type.
     *
     * @return {@link #TYPE_1} or {@link #TYPE_2}
     */
    public final int type() {
        return type;
    }

    /**
     * The key.
     *
     * @return 32 bits
     */
    public final int rkey() {
        return rkey;
    }

    /**
     * Whether it was destroyed.
     *
     * @return true after it was given back
     */
    public final boolean isDestroyed() {
        return destroyed;
    }

    /**
     * Gives the window its key. For its provider.
     *
     * @param newRkey 32 bits
     */
    protected final void setRkey(int newRkey) {
        rkey = newRkey;
    }

    final Restrack.@Nullable Entry tracked() {
        return tracked;
    }

    final void setTracked(Restrack.@Nullable Entry entry) {
        tracked = entry;
    }

    final void markDestroyed() {
        destroyed = true;
    }

    @Override
    public String toString() {
        return "type " + type + " window with rkey 0x" + Integer.toHexString(rkey);
    }
}
