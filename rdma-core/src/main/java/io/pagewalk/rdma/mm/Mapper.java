package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.DevicePages;
import org.jspecify.annotations.Nullable;

/** Makes and removes the ranges of an address space: mmap and munmap. Callers hold the lock. Implements rdma:MM-5. */
final class Mapper {
    /** The first address that is none of a process's: TASK_SIZE_MAX (rdma:GUP-3). */
    static final long TASK_SIZE = 0x7fff_ffff_f000L;

    /** Below this nothing may be mapped: vm.mmap_min_addr. */
    private static final long LOWEST = 0x1_0000;

    /** Where the search for a place begins, downwards: under the stack, without randomisation. */
    private static final long MMAP_BASE = 0x7fff_f7ff_f000L;

    private static final long MAY_ALL = VmFlags.MAYREAD | VmFlags.MAYWRITE | VmFlags.MAYEXEC;

    private final AddressSpace space;

    Mapper(AddressSpace space) {
        this.space = space;
    }

    // ---- mmap

    long mmap(long address, long length, int prot, int flags, UserFile.@Nullable Opened opened, long offsetBytes) {
        if (!Addresses.isAligned(offsetBytes, Addresses.PAGE_SIZE) || !isSharedOrPrivate(flags)) {
            return -Errno.EINVAL;
        }
        UserFile.Opened source = opened;
        if (source == null && (flags & Mmap.MAP_HUGETLB) != 0) {
            return mapNewFile(FileKind.HUGETLB, address, hugeAligned(length), prot, flags);
        }
        if (source == null && (flags & Mmap.MAP_SHARED) != 0) {
            return mapNewFile(FileKind.SHMEM, address, length, prot, flags);
        }
        return map(address, length, prot, flags, source, offsetBytes);
    }

    private static boolean isSharedOrPrivate(int flags) {
        int kind = flags & (Mmap.MAP_SHARED | Mmap.MAP_PRIVATE);
        return kind == Mmap.MAP_SHARED || kind == Mmap.MAP_PRIVATE;
    }

    private static long hugeAligned(long length) {
        return Addresses.alignUp(length, UserPages.HUGE_BYTES);
    }

    /** Maps memory that is a file to the kernel, though nobody opened one. */
    private long mapNewFile(FileKind kind, long address, long length, int prot, int flags) {
        String name = kind == FileKind.HUGETLB ? "anon_hugepage" : "dev/zero";
        try (UserFile file = new UserFile(space.memory(), kind, name, length)) {
            return map(address, length, prot, flags, file.forWriting(), 0);
        }
    }

    private long map(long address, long length, int prot, int flags, UserFile.@Nullable Opened opened, long offset) {
        UserFile file = opened == null ? null : opened.file();
        if (file != null && file.kind() == FileKind.HUGETLB && !Addresses.isAligned(offset, UserPages.HUGE_BYTES)) {
            return -Errno.EINVAL;
        }
        long vmFlags = vmFlagsOf(prot, flags, opened);
        if (vmFlags < 0) {
            return vmFlags;
        }
        long place = place(address, length, flags, vmFlags);
        if (place < 0) {
            return place;
        }
        // Asked first, so that what a fixed range replaces is still there when there is no room for the new one.
        if (!space.vmas().canAdd()) {
            return -Errno.ENOMEM;
        }
        long end = place + pageAligned(length);
        if ((flags & Mmap.MAP_FIXED) != 0) {
            int cleared = clear(place, end);
            if (cleared != 0) {
                return cleared;
            }
        }
        space.vmas().add(new Vma(place, end, vmFlags, file, offset >>> Addresses.PAGE_SHIFT));
        return place;
    }

    private static long pageAligned(long length) {
        return Addresses.alignUp(length, Addresses.PAGE_SIZE);
    }

    /** The flags of the new range, or a negated errno. */
    private static long vmFlagsOf(int prot, int flags, UserFile.@Nullable Opened opened) {
        long vmFlags = accessOf(prot) | MAY_ALL;
        boolean shared = (flags & Mmap.MAP_SHARED) != 0;
        if (opened != null && opened.file().kind() == FileKind.HUGETLB) {
            vmFlags |= VmFlags.HUGETLB;
        }
        if (!shared && opened != null && opened.file().kind() == FileKind.SECRETMEM) {
            return -Errno.EINVAL;
        }
        if (!shared) {
            return vmFlags;
        }
        vmFlags |= VmFlags.SHARED | VmFlags.MAYSHARE;
        if (opened != null && !opened.writable()) {
            if ((prot & Mmap.PROT_WRITE) != 0) {
                return -Errno.EACCES;
            }
            vmFlags &= ~(VmFlags.SHARED | VmFlags.MAYWRITE);
        }
        return vmFlags;
    }

    static long accessOf(int prot) {
        return prot & (Mmap.PROT_READ | Mmap.PROT_WRITE | Mmap.PROT_EXEC);
    }

    /** Where the new range goes, or a negated errno. */
    private long place(long address, long length, int flags, long vmFlags) {
        boolean huge = (vmFlags & VmFlags.HUGETLB) != 0;
        long align = huge ? UserPages.HUGE_BYTES : Addresses.PAGE_SIZE;
        if (length == 0 || (huge && !Addresses.isAligned(length, align))) {
            return -Errno.EINVAL;
        }
        if (!Addresses.lessOrEqual(length, TASK_SIZE)) {
            return -Errno.ENOMEM;
        }
        long size = pageAligned(length);
        if ((flags & Mmap.MAP_FIXED) != 0) {
            return fixedPlace(address, size, align);
        }
        long hint = Addresses.alignDown(address, align);
        if (hint >= LOWEST && hint <= TASK_SIZE - size && space.vmas().isFree(hint, hint + size)) {
            return hint;
        }
        long gap = space.vmas().highestGap(size, align, LOWEST, MMAP_BASE);
        return gap < 0 ? -Errno.ENOMEM : gap;
    }

    private static long fixedPlace(long address, long size, long align) {
        if (!Addresses.isAligned(address, align)) {
            return -Errno.EINVAL;
        }
        if (!Addresses.lessOrEqual(address, TASK_SIZE - size)) {
            return -Errno.ENOMEM;
        }
        return address < LOWEST ? -Errno.EPERM : address;
    }

    // ---- frames without files

    /** Maps frames as they are: bare numbers, or device pages that have references. */
    long mapFrames(long address, long firstPfn, long length, int prot, boolean withPages) {
        long place = place(address, length, 0, 0);
        if (place < 0) {
            return place;
        }
        long endPfn = firstPfn + (pageAligned(length) >>> Addresses.PAGE_SHIFT);
        if (!Folios.isFrame(firstPfn)
                || !Folios.isFrame(endPfn - 1)
                || (withPages && !areDevicePages(firstPfn, endPfn))) {
            return -Errno.EINVAL;
        }
        if (!space.vmas().canAdd()) {
            return -Errno.ENOMEM;
        }
        long kind = withPages ? VmFlags.MIXEDMAP : VmFlags.IO | VmFlags.PFNMAP;
        long vmFlags = accessOf(prot) | MAY_ALL | VmFlags.SHARED | VmFlags.MAYSHARE | kind;
        Vma vma = new Vma(place, place + pageAligned(length), vmFlags, null, firstPfn);
        space.vmas().add(vma);
        // Bare frames are faulted in, so that a large window costs nothing until it is touched.
        for (long vpn = vma.firstVpn(); withPages && vpn < vma.endVpn(); vpn++) {
            if (!mapDevicePage(vma, vpn)) {
                remove(vma);
                return -Errno.ENOMEM;
            }
        }
        return place;
    }

    private boolean areDevicePages(long firstPfn, long endPfn) {
        DevicePages devicePages = space.memory().machine().devicePages();
        for (long pfn = firstPfn; pfn < endPfn; pfn++) {
            if (devicePages.mapOf(pfn) == null) {
                return false;
            }
        }
        return true;
    }

    /** False when there is no memory for a table, or the page has as many references as fit. */
    private boolean mapDevicePage(Vma vma, long vpn) {
        long pfn = vma.filePageOf(vpn);
        if (!space.table().prepare(vpn) || !space.memory().machine().frames().tryGet(pfn, 1)) {
            return false;
        }
        space.memory().folios().addMapCount(pfn, 1);
        space.table().set(vpn, vma.maybeWritable(FaultHandler.entry(vma, pfn, 0)));
        return true;
    }

    // ---- munmap

    int munmap(long address, long length) {
        if (!Addresses.isAligned(address, Addresses.PAGE_SIZE)
                || !Addresses.lessOrEqual(address, TASK_SIZE)
                || !Addresses.lessOrEqual(length, TASK_SIZE - address)
                || length == 0) {
            return -Errno.EINVAL;
        }
        return clear(address, address + pageAligned(length));
    }

    private int clear(long start, long end) {
        int split = split(start, end);
        if (split != 0) {
            return split;
        }
        for (Vma vma : space.vmas().overlapping(start, end)) {
            remove(vma);
        }
        return 0;
    }

    private void remove(Vma vma) {
        if (vma.has(VmFlags.LOCKED)) {
            space.addLockedVm(-(vma.endVpn() - vma.firstVpn()));
        }
        space.zap().all(vma);
        space.vmas().remove(vma);
    }

    /** Makes both ends of a range ends of ranges of the address space. 0 or a negated errno. */
    int split(long start, long end) {
        if (cutsHugePage(start) || cutsHugePage(end)) {
            return -Errno.EINVAL;
        }
        return space.vmas().splitAt(start) && space.vmas().splitAt(end) ? 0 : -Errno.ENOMEM;
    }

    private boolean cutsHugePage(long address) {
        Vma vma = space.vmas().find(address);
        return vma != null && vma.isHugetlb() && !Addresses.isAligned(address, UserPages.HUGE_BYTES);
    }
}
