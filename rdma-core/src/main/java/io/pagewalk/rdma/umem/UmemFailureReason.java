package io.pagewalk.rdma.umem;

import java.util.List;

/**
 * Why memory could not be registered, beyond the errno that the kernel gives, in the order in which it is checked.
 *
 * <p>Each constant names its numbers and what a caller can turn.
 */
public enum UmemFailureReason {
    /** The kernel has no support for memory of processes (rdma:UMEM-29). */
    NO_USER_MEMORY("build the kernel with INFINIBAND_USER_MEM"),
    /** Address and length, rounded up to pages, leave 64 bits (rdma:UMEM-3). */
    RANGE_WRAPS("register a range that ends a page below 2^64", "address", "bytes"),
    /** The process may lock no memory at all (rdma:UMEM-4). */
    MAY_NOT_LOCK("raise RLIMIT_MEMLOCK above 0 to at least the bytes needed, or give CAP_IPC_LOCK", "bytes needed"),
    /** Pages on demand are another kind of registration (rdma:UMEM-5). */
    ON_DEMAND("leave out ON_DEMAND"),
    /** The kernel has no memory of its own for the registration (rdma:UMEM-6, UMEM-7). */
    NO_KERNEL_MEMORY("disarm the machine's failure injection"),
    /** There is no page to pin, or more than 32 bits count (rdma:UMEM-8). */
    PAGE_COUNT("register at least a byte and at most 16 TiB", "pages"),
    /** The process would have more pinned than it may (rdma:UMEM-10). */
    MEMLOCK_LIMIT(
            "raise RLIMIT_MEMLOCK to at least the bytes needed, or give CAP_IPC_LOCK",
            "pages to pin",
            "pages pinned so far",
            "pages allowed",
            "bytes needed"),
    /** A page could not be pinned (rdma:UMEM-15). */
    CANNOT_PIN("see what is mapped at the address", "address", "pages pinned before it", "pages to pin"),
    /** The list of pages could not grow, or the device's segments are below a page (rdma:UMEM-16). */
    CANNOT_LIST("give the device segments of a page at least", "largest segment in bytes", "pages to pin"),
    /** The device cannot be given the pages (rdma:UMEM-17). */
    CANNOT_MAP("see why the device cannot map them", "entries");

    private final String knob;
    /** Joined, since an enum holds only what cannot change. */
    private final String labels;

    UmemFailureReason(String knob, String... labels) {
        this.knob = knob;
        this.labels = String.join(",", labels);
    }

    /**
     * What a caller can turn to avoid the failure.
     *
     * @return a short phrase
     */
    public String knob() {
        return knob;
    }

    /**
     * The names of this reason's numbers.
     *
     * @return up to four names
     */
    public List<String> labels() {
        return labels.isEmpty() ? List.of() : List.of(labels.split(",", -1));
    }
}
