package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;

/**
 * madvise: what becomes of ranges at a fork, and the loss of pages. Works on whole pages: whoever asks for part of a
 * page gets all of it. Callers hold the lock. Implements of rdma:MM-12 and MM-13 the advice.
 */
final class Advice {
    private final AddressSpace space;
    private final Mapper mapper;

    Advice(AddressSpace space, Mapper mapper) {
        this.space = space;
        this.mapper = mapper;
    }

    /** 0; -EINVAL; -EAGAIN when there is no memory; -ENOMEM when part of it is not mapped, after all that is. */
    int advise(long address, long length, int advice) {
        if (!Addresses.isAligned(address, Addresses.PAGE_SIZE)
                || !Addresses.lessOrEqual(address, Mapper.TASK_SIZE)
                || !Addresses.lessOrEqual(length, Mapper.TASK_SIZE - address)
                || !isKnown(advice)) {
            return -Errno.EINVAL;
        }
        long end = address + Addresses.alignUp(length, Addresses.PAGE_SIZE);
        long at = address;
        boolean holes = false;
        for (Vma vma : space.vmas().overlapping(address, end)) {
            holes |= vma.start > at;
            at = Math.min(end, vma.end);
            int failed = adviseRange(vma, Math.max(address, vma.start), at, advice);
            if (failed != 0) {
                return failed;
            }
        }
        return holes || at < end ? -Errno.ENOMEM : 0;
    }

    private static boolean isKnown(int advice) {
        return switch (advice) {
            case Mmap.MADV_DONTNEED,
                    Mmap.MADV_DONTFORK,
                    Mmap.MADV_DOFORK,
                    Mmap.MADV_HUGEPAGE,
                    Mmap.MADV_NOHUGEPAGE,
                    Mmap.MADV_WIPEONFORK,
                    Mmap.MADV_KEEPONFORK,
                    Mmap.MADV_HWPOISON -> true;
            default -> false;
        };
    }

    private int adviseRange(Vma vma, long start, long end, int advice) {
        return switch (advice) {
            case Mmap.MADV_DONTNEED -> dropPages(vma, start, end);
            case Mmap.MADV_HWPOISON -> poison(vma, start, end);
            case Mmap.MADV_DONTFORK -> change(start, end, VmFlags.DONTCOPY, true);
            case Mmap.MADV_DOFORK -> vma.has(VmFlags.IO) ? -Errno.EINVAL : change(start, end, VmFlags.DONTCOPY, false);
            case Mmap.MADV_WIPEONFORK ->
                vma.isAnonymous() && !vma.has(VmFlags.SHARED)
                        ? change(start, end, VmFlags.WIPEONFORK, true)
                        : -Errno.EINVAL;
            case Mmap.MADV_KEEPONFORK -> change(start, end, VmFlags.WIPEONFORK, false);
            case Mmap.MADV_HUGEPAGE -> change(start, end, VmFlags.HUGEPAGE, true);
            default -> change(start, end, VmFlags.HUGEPAGE, false);
        };
    }

    private int change(long start, long end, long flag, boolean set) {
        int failed = mapper.split(start, end);
        if (failed != 0) {
            return failed == -Errno.ENOMEM ? -Errno.EAGAIN : failed;
        }
        for (Vma vma : space.vmas().overlapping(start, end)) {
            vma.flags = set ? vma.flags | flag : vma.flags & ~flag;
        }
        return 0;
    }

    private int dropPages(Vma vma, long start, long end) {
        long align = vma.isHugetlb() ? UserPages.HUGE_BYTES : Addresses.PAGE_SIZE;
        if (vma.has(VmFlags.LOCKED | VmFlags.PFNMAP)
                || vma.isKind(FileKind.SECRETMEM)
                || !Addresses.isAligned(start, align)
                || !Addresses.isAligned(end, align)) {
            return -Errno.EINVAL;
        }
        space.zap().range(vma, start >>> Addresses.PAGE_SHIFT, end >>> Addresses.PAGE_SHIFT);
        return 0;
    }

    private int poison(Vma vma, long start, long end) {
        if (vma.isHugetlb() || vma.has(VmFlags.IO | VmFlags.PFNMAP | VmFlags.MIXEDMAP)) {
            return -Errno.EINVAL;
        }
        for (long vpn = start >>> Addresses.PAGE_SHIFT; vpn < end >>> Addresses.PAGE_SHIFT; vpn++) {
            if (!space.table().prepare(vpn)) {
                return -Errno.EAGAIN;
            }
            poisonPage(vma, vpn);
        }
        return 0;
    }

    /** The page that is there is lost: of a file for all, else for this process. */
    private void poisonPage(Vma vma, long vpn) {
        long pte = space.table().get(vpn);
        boolean own = Pte.isMapped(pte) && space.memory().folios().has(Pte.pfn(pte), Folios.ANON);
        if (vma.file != null && !own) {
            vma.file.poison(vma.filePageOf(vpn));
            return;
        }
        space.zap().one(vma, vpn);
        space.table().set(vpn, Pte.POISON);
    }
}
