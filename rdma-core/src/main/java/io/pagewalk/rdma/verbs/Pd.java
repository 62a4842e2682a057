package io.pagewalk.rdma.verbs;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A protection domain, the kernel's {@code struct ib_pd}: regions, windows and queue pairs work together only within
 * one. Providers may extend it with what they keep. Implements rdma:PD-2, PD-3, PD-5. Thread-safe.
 */
public class Pd {
    /** A flag of an in-kernel domain: it gets a key by which a peer reaches all memory (rdma:PD-3). */
    public static final int UNSAFE_GLOBAL_RKEY = 0x1;

    private final VerbsDevice device;
    private final Owner owner;
    private final AtomicInteger useCount = new AtomicInteger();
    private int localDmaLkey;
    private int unsafeGlobalRkey;
    private @Nullable Mr internalMr;
    private Restrack.@Nullable Entry tracked;
    private boolean destroyed;

    /**
     * Makes a domain that nothing uses. For a provider.
     *
     * @param device the device
     * @param owner whose it is
     */
    public Pd(VerbsDevice device, Owner owner) {
        this.device = Objects.requireNonNull(device, "device");
        this.owner = Objects.requireNonNull(owner, "owner");
    }

    /**
     * The device.
     *
     * @return as made
     */
    public final VerbsDevice device() {
        return device;
    }

    /**
     * Whose it is.
     *
     * @return part of the kernel, or a process
     */
    public final Owner owner() {
        return owner;
    }

    /**
     * How many regions, windows and queue pairs are in it; the internal region of an in-kernel domain is not counted.
     *
     * @return {@code usecnt}
     */
    public final int useCount() {
        return useCount.get();
    }

    /**
     * The key by which in-kernel users reach all memory.
     *
     * @return the key; 0 for a domain of a process
     */
    public final int localDmaLkey() {
        return localDmaLkey;
    }

    /**
     * The key by which a peer reaches all memory (rdma:PD-3).
     *
     * @return the key; 0 without {@link #UNSAFE_GLOBAL_RKEY}
     */
    public final int unsafeGlobalRkey() {
        return unsafeGlobalRkey;
    }

    /**
     * The region behind {@link #unsafeGlobalRkey()}, and behind {@link #localDmaLkey()} of a device that has no such
     * key of its own.
     *
     * @return the region, or null
     */
    public final @Nullable Mr internalMr() {
        return internalMr;
    }

    /**
     * Whether it was destroyed.
     *
     * @return true after it was given back
     */
    public final boolean isDestroyed() {
        return destroyed;
    }

    final void use() {
        useCount.incrementAndGet();
    }

    final void unuse() {
        useCount.decrementAndGet();
    }

    final void setLocalDmaLkey(int lkey) {
        localDmaLkey = lkey;
    }

    final void setInternalMr(Mr mr, boolean localLkey, boolean globalRkey) {
        internalMr = mr;
        if (localLkey) {
            localDmaLkey = mr.lkey();
        }
        unsafeGlobalRkey = globalRkey ? mr.rkey() : 0;
    }

    final void clearInternalMr() {
        internalMr = null;
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
        return "domain of " + owner + " on " + device.name();
    }
}
