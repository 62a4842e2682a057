package io.pagewalk.rdma.qp;

import org.jspecify.annotations.Nullable;

/**
 * A caller-owned place for what a remote key led to: a region, and what has to be added to the peer's address, which is
 * not 0 for a zero-based window. Reused. Not thread-safe.
 */
public final class RemoteRef {
    private @Nullable Region region;
    private long addressOffset;

    /** Makes a place for nothing. */
    public RemoteRef() {}

    /**
     * Notes what was found. For a provider.
     *
     * @param found the region, held
     * @param offset what to add to addresses
     */
    public void set(Region found, long offset) {
        region = found;
        addressOffset = offset;
    }

    /**
     * The region.
     *
     * @return what was found
     * @throws IllegalStateException when nothing is held
     */
    public Region region() {
        if (region == null) {
            throw new IllegalStateException("no key was looked up");
        }
        return region;
    }

    /**
     * What to add to addresses.
     *
     * @return bytes
     */
    public long addressOffset() {
        return addressOffset;
    }

    /** Lets go of the region. */
    public void put() {
        if (region != null) {
            region.put();
            region = null;
        }
    }
}
