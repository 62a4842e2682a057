package io.pagewalk.backends.iommu.api;

/** Permission bits of an IOMMU mapping (iommu:CONV-7). */
public final class IommuProt {
    /** The device may read. */
    public static final int READ = 1;
    /** The device may write. */
    public static final int WRITE = 2;
    /** Accesses snoop the CPU's caches. */
    public static final int CACHE = 4;
    /** No instruction fetch. */
    public static final int NOEXEC = 8;
    /** Device memory. */
    public static final int MMIO = 16;
    /** Privileged accesses only. */
    public static final int PRIV = 32;

    private IommuProt() {}
}
