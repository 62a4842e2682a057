package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.umem.Umem;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A memory region, the kernel's {@code struct ib_mr}: a range of addresses that keys name. Providers extend it with
 * what they keep. Its keys are the public ones; a provider's private keys may differ until a work request brings them
 * up to date (rdma:RXE-11). Implements rdma:MR-2.
 *
 * <p>Numbers are read without a lock. Who changes a region while others use it gets what the kernel gives: either
 * state.
 */
public abstract class Mr {
    /** The page size that a region has until it is mapped. */
    public static final int DEFAULT_PAGE_BYTES = 4096;

    private final MrType type;
    private volatile Pd pd;
    private volatile int lkey;
    private volatile int rkey;
    private volatile long iova;
    private volatile long lengthBytes;
    private volatile int pageBytes;
    private int sgOffset;
    private boolean needsInvalidation;
    private @Nullable SigAttrs sigAttrs;
    private @Nullable SigDomains sigDomains;
    private int metaLengthBytes;
    private @Nullable Umem umem;
    private Restrack.@Nullable Entry tracked;
    private boolean destroyed;
    /** Guarded by the lock of the pools that it goes in and out of. */
    private boolean pooled;

    /**
     * Makes a region without keys.
     *
     * @param pd its domain
     * @param type its kind
     */
    protected Mr(Pd pd, MrType type) {
        this.pd = Objects.requireNonNull(pd, "pd");
        this.type = Objects.requireNonNull(type, "type");
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
     * The kind.
     *
     * @return as made
     */
    public final MrType type() {
        return type;
    }

    /**
     * The public local key.
     *
     * @return 32 bits
     */
    public final int lkey() {
        return lkey;
    }

    /**
     * The public remote key.
     *
     * @return 32 bits
     */
    public final int rkey() {
        return rkey;
    }

    /**
     * Address of the first byte, as work requests name it.
     *
     * @return the address
     */
    public final long iova() {
        return iova;
    }

    /**
     * Length.
     *
     * @return bytes, unsigned
     */
    public final long lengthBytes() {
        return lengthBytes;
    }

    /**
     * The page size that {@code map_mr_sg} gave.
     *
     * @return bytes, unsigned 32-bit
     */
    public final int pageBytes() {
        return pageBytes;
    }

    /**
     * What the latest {@code map_mr_sg} left in its caller's offset: where to begin in the segment whose index it
     * returned.
     *
     * @return unsigned 32-bit
     */
    public final int sgOffset() {
        return sgOffset;
    }

    /**
     * Whether a user of a pool has to invalidate the region before it is used again.
     *
     * @return {@code need_inval}
     */
    public final boolean needsInvalidation() {
        return needsInvalidation;
    }

    /**
     * Says whether the region has to be invalidated before it is used again. The core never looks at it (rdma:MR-5).
     *
     * @param yes {@code need_inval}
     */
    public final void setNeedsInvalidation(boolean yes) {
        needsInvalidation = yes;
    }

    /**
     * The signature attributes of an integrity region.
     *
     * @return the attributes, or null for other regions
     */
    public final @Nullable SigAttrs sigAttrs() {
        return sigAttrs;
    }

    /**
     * Where the present transfer of an integrity region has signatures.
     *
     * @return what its user said last, or null
     */
    public final @Nullable SigDomains sigDomains() {
        return sigDomains;
    }

    /**
     * Says where the next transfer of an integrity region has signatures.
     *
     * @param domains on the wire and in memory
     */
    public final void setSigDomains(SigDomains domains) {
        sigDomains = Objects.requireNonNull(domains, "domains");
    }

    /**
     * How much of an integrity region's length is signatures: {@code meta_length}.
     *
     * @return bytes, unsigned 32-bit
     */
    public final int metaLengthBytes() {
        return metaLengthBytes;
    }

    /**
     * The memory of a process that the region holds.
     *
     * @return the registration, or null for regions of other kinds
     */
    public final @Nullable Umem umem() {
        return umem;
    }

    /**
     * Pages that the region keeps pinned.
     *
     * @return pages; 0 for regions without memory of a process
     */
    public final long pinnedPages() {
        Umem held = umem;
        return held == null || held.isReleased() ? 0 : held.numPages();
    }

    /**
     * Whether it was destroyed.
     *
     * @return true after a deregistration that succeeded
     */
    public final boolean isDestroyed() {
        return destroyed;
    }

    // ---- for the provider

    /**
     * Gives the region its public keys. For its provider.
     *
     * @param newLkey the local key
     * @param newRkey the remote key
     */
    protected final void setKeys(int newLkey, int newRkey) {
        lkey = newLkey;
        rkey = newRkey;
    }

    /**
     * Moves the region. For its provider.
     *
     * @param newIova address of the first byte
     * @param newLengthBytes length, unsigned
     */
    protected final void setRange(long newIova, long newLengthBytes) {
        iova = newIova;
        lengthBytes = newLengthBytes;
    }

    /**
     * Says where the caller of {@code map_mr_sg} goes on. For its provider.
     *
     * @param newSgOffset unsigned 32-bit
     */
    protected final void setSgOffset(int newSgOffset) {
        sgOffset = newSgOffset;
    }

    /**
     * Says how much of an integrity region's length is signatures. For its provider.
     *
     * @param newMetaLengthBytes bytes, unsigned 32-bit
     */
    protected final void setMetaLength(int newMetaLengthBytes) {
        metaLengthBytes = newMetaLengthBytes;
    }

    /**
     * Gives the region its page size. For its provider.
     *
     * @param newPageBytes unsigned 32-bit
     */
    protected final void setPageBytes(int newPageBytes) {
        pageBytes = newPageBytes;
    }

    /**
     * Gives the region the memory that it holds. For its provider, which also releases it.
     *
     * @param newUmem the registration
     */
    protected final void setUmem(Umem newUmem) {
        umem = newUmem;
    }

    /**
     * Moves the region to another domain. For its provider, while it re-registers.
     *
     * @param newPd the domain
     */
    protected final void setPd(Pd newPd) {
        pd = newPd;
    }

    // ---- for the core

    final void setIova(long newIova) {
        iova = newIova;
    }

    final void setSigAttrs(@Nullable SigAttrs attrs) {
        sigAttrs = attrs;
    }

    final Restrack.@Nullable Entry tracked() {
        return tracked;
    }

    final void setTracked(Restrack.@Nullable Entry entry) {
        tracked = entry;
    }

    final boolean isPooled() {
        return pooled;
    }

    final void setPooled(boolean yes) {
        pooled = yes;
    }

    final void markDestroyed() {
        destroyed = true;
    }

    @Override
    public String toString() {
        return type + " region " + Addresses.hexRange(iova, lengthBytes) + " with lkey 0x" + Integer.toHexString(lkey)
                + " and rkey 0x" + Integer.toHexString(rkey);
    }
}
