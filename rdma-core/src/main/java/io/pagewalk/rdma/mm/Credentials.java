package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;

/**
 * How much memory a process may lock, and whether that binds it: RLIMIT_MEMLOCK, CAP_IPC_LOCK and the user namespace in
 * which it has it. Implements rdma:MM-2 and MM-3.
 *
 * <p>Thread-safe: each value is read anew, on its own.
 */
public final class Credentials {
    /** No limit. */
    public static final long RLIM_INFINITY = -1L;

    /** What systemd and recent kernels give a process: 8 MiB. */
    public static final long DEFAULT_MEMLOCK_BYTES = 8L << 20;

    private volatile long memlockLimitBytes = DEFAULT_MEMLOCK_BYTES;
    private volatile boolean permitted;
    private volatile boolean effective;
    private volatile boolean inInitialNamespace = true;

    Credentials() {}

    Credentials copy() {
        Credentials copy = new Credentials();
        copy.memlockLimitBytes = memlockLimitBytes;
        copy.permitted = permitted;
        copy.effective = effective;
        copy.inInitialNamespace = inInitialNamespace;
        return copy;
    }

    /**
     * The soft RLIMIT_MEMLOCK.
     *
     * @return bytes, unsigned
     */
    public long memlockLimitBytes() {
        return memlockLimitBytes;
    }

    void setMemlockLimit(long bytes) {
        memlockLimitBytes = bytes;
    }

    /**
     * The limit in whole pages.
     *
     * @return pages; 2^52-1 for no limit
     */
    public long memlockLimitPages() {
        return memlockLimitBytes >>> Addresses.PAGE_SHIFT;
    }

    boolean canDoMlock() {
        return memlockLimitBytes != 0 || hasCapIpcLock();
    }

    boolean hasCapIpcLock() {
        return effective && inInitialNamespace;
    }

    void setCapIpcLock(boolean yes) {
        permitted = yes;
        effective = yes;
    }

    /**
     * Drops CAP_IPC_LOCK from the effective set or raises it again, as {@code capset} does.
     *
     * @param raised whether it is to be effective
     * @return false when it is to be raised and is not permitted; nothing changes then
     */
    public boolean raiseCapIpcLock(boolean raised) {
        if (raised && !permitted) {
            return false;
        }
        effective = raised;
        return true;
    }

    /**
     * Enters a new user namespace, as its root: it has every capability there, none of which counts outside
     * (rdma:MM-2).
     */
    public void unshareUserNamespace() {
        inInitialNamespace = false;
        permitted = true;
        effective = true;
    }

    /**
     * Whether it is in the initial user namespace.
     *
     * @return false after {@link #unshareUserNamespace}
     */
    public boolean isInInitialNamespace() {
        return inInitialNamespace;
    }
}
