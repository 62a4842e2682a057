package io.pagewalk.rdma.verbs;

/** Who posts to a queue pair, and so what is checked before a request is queued. */
public enum PostChecks {
    /** The kernel: everything (rdma:DP-4). */
    KERNEL,
    /** The library of user space, which has rules of its own for atomics (rdma:DP-33). */
    USER_LIBRARY,
    /** User space without its library: it writes the queue itself, and the device takes it as it is. */
    RAW
}
