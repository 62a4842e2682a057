package io.pagewalk.backends.swiotlb;

/**
 * What the kernel was told of pools so far, {@code default_nslabs} and {@code default_nareas} above all: one for all
 * allocators of a machine, and changed by whoever boots a pool.
 *
 * <p>Thread-safe to read.
 */
final class SwiotlbDefaults {
    private volatile SwiotlbParameter parameter;

    SwiotlbDefaults(SwiotlbParameter parameter) {
        this.parameter = parameter;
    }

    SwiotlbParameter get() {
        return parameter;
    }

    void set(SwiotlbParameter newParameter) {
        parameter = newParameter;
    }
}
