package io.pagewalk.dma;

/**
 * The error numbers the kernel's DMA code returns, positive as in {@code errno.h}; functions return them negated.
 *
 * <p>Source: dma-core:TYP-8 and iommu:CONV-4.
 */
public final class Errno {
    /** Operation not permitted. */
    public static final int EPERM = 1;
    /** No such object. */
    public static final int ENOENT = 2;
    /** A signal came before it was done. */
    public static final int EINTR = 4;
    /** Input/output error. */
    public static final int EIO = 5;
    /** No such device or address. */
    public static final int ENXIO = 6;
    /** No open file. */
    public static final int EBADF = 9;
    /** Not now; may succeed later. */
    public static final int EAGAIN = 11;
    /** Out of memory, of addresses or of slots; may succeed later. */
    public static final int ENOMEM = 12;
    /** Permission denied. */
    public static final int EACCES = 13;
    /** Bad address. */
    public static final int EFAULT = 14;
    /** Busy. */
    public static final int EBUSY = 16;
    /** Exists already. */
    public static final int EEXIST = 17;
    /** No such device. */
    public static final int ENODEV = 19;
    /** Invalid argument; never succeeds on retry. */
    public static final int EINVAL = 22;
    /** No space left. */
    public static final int ENOSPC = 28;
    /** Out of range. */
    public static final int ERANGE = 34;
    /** Not implemented. */
    public static final int ENOSYS = 38;
    /** Value too large. */
    public static final int EOVERFLOW = 75;
    /** Not supported. */
    public static final int EOPNOTSUPP = 95;
    /** Timed out. */
    public static final int ETIMEDOUT = 110;
    /** A peer-to-peer page that this device cannot reach. */
    public static final int EREMOTEIO = 121;

    private Errno() {}

    /**
     * Names an error number.
     *
     * @param errno a number, positive or negated
     * @return its name such as {@code ENOMEM}, or the number when it is none of these
     */
    public static String name(int errno) {
        return switch (Math.abs(errno)) {
            case EPERM -> "EPERM";
            case ENOENT -> "ENOENT";
            case EINTR -> "EINTR";
            case EIO -> "EIO";
            case ENXIO -> "ENXIO";
            case EBADF -> "EBADF";
            case EAGAIN -> "EAGAIN";
            case ENOMEM -> "ENOMEM";
            case EACCES -> "EACCES";
            case EFAULT -> "EFAULT";
            case EBUSY -> "EBUSY";
            case EEXIST -> "EEXIST";
            case ENODEV -> "ENODEV";
            case EINVAL -> "EINVAL";
            case ENOSPC -> "ENOSPC";
            case ERANGE -> "ERANGE";
            case ENOSYS -> "ENOSYS";
            case EOVERFLOW -> "EOVERFLOW";
            case EOPNOTSUPP -> "EOPNOTSUPP";
            case ETIMEDOUT -> "ETIMEDOUT";
            case EREMOTEIO -> "EREMOTEIO";
            default -> Integer.toString(errno);
        };
    }
}
