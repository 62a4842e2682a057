package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * One range of an address space: [start, end), its flags and what stands behind it. Implements rdma:MM-4 to MM-6 and
 * GUP-9.
 */
final class Vma {
    /** The first byte, and the first byte after it; both multiples of the page size and below 2^47. */
    long start;

    long end;
    long flags;
    int protectionKey;

    /** What the bytes come from; null for anonymous memory and bare frame numbers. */
    final @Nullable UserFile file;

    /** Which page of the file is the first, or which frame, of bare ones. */
    long pgoff;

    /** Whether a page of the process's own was ever put here, so that fork has to look. */
    boolean hasAnonPages;

    Vma(long start, long end, long flags, @Nullable UserFile file, long pgoff) {
        this.start = start;
        this.end = end;
        this.flags = flags;
        this.file = file;
        this.pgoff = pgoff;
    }

    Vma copy() {
        Vma copy = new Vma(start, end, flags, file, pgoff);
        copy.protectionKey = protectionKey;
        copy.hasAnonPages = hasAnonPages;
        return copy;
    }

    boolean has(long flag) {
        return (flags & flag) != 0;
    }

    /** What the kernel calls anonymous: neither shared memory nor hugetlb are. */
    boolean isAnonymous() {
        return file == null && !has(VmFlags.PFNMAP | VmFlags.IO | VmFlags.MIXEDMAP);
    }

    boolean isCowMapping() {
        return VmFlags.isCowMapping(flags);
    }

    boolean isHugetlb() {
        return has(VmFlags.HUGETLB);
    }

    boolean isKind(FileKind kind) {
        return file != null && file.kind() == kind;
    }

    /** GUP-9: writes have to be noticed, so that the file system can write back or make room. */
    boolean needsDirtyTracking() {
        return (flags & (VmFlags.SHARED | VmFlags.WRITE)) == (VmFlags.SHARED | VmFlags.WRITE)
                && file != null
                && file.kind().tracksDirtyPages();
    }

    /** What the process may do at all, on x86: memory that can only be written or executed can be read too. */
    boolean isAccessible() {
        return has(VmFlags.ACCESS);
    }

    long firstVpn() {
        return start >>> Addresses.PAGE_SHIFT;
    }

    long endVpn() {
        return end >>> Addresses.PAGE_SHIFT;
    }

    long filePageOf(long vpn) {
        return pgoff + (vpn - firstVpn());
    }

    /** A writable entry, if the process may write here: {@code maybe_mkwrite}. */
    long maybeWritable(long pte) {
        return has(VmFlags.WRITE) ? pte | Pte.WRITE : pte;
    }

    @Override
    public String toString() {
        return Addresses.hex(start) + "-" + Addresses.hex(end) + " flags " + Addresses.hex(flags)
                + (file == null ? "" : " " + file);
    }
}
