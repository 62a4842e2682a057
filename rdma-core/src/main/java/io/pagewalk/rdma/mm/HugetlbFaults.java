package io.pagewalk.rdma.mm;

/**
 * Faults on huge pages: those of hugetlbfs, mapped and counted as one, and transparent ones, each of whose 512 entries
 * counts as a mapping. Not thread-safe: the lock of {@link UserMemory} guards it.
 *
 * <p>Differs from Linux: a transparent huge page is mapped by small entries from the start.
 */
final class HugetlbFaults {
    private final UserPages pages;
    private final Folios folios;

    HugetlbFaults(UserMemory memory) {
        pages = memory.pages();
        folios = memory.folios();
    }

    Fault handle(AddressSpace space, Vma vma, long vpn, int flags) {
        long firstVpn = vpn & -UserPages.HUGE_PAGES;
        if (!space.table().prepare(firstVpn)) {
            return Fault.OOM;
        }
        long pte = space.table().get(firstVpn);
        if (!Pte.isMapped(pte)) {
            return missing(space, vma, firstVpn, flags);
        }
        if (Pte.has(pte, Pte.WRITE) || flags == 0) {
            return Fault.DONE;
        }
        return writeProtected(space, vma, firstVpn, pte, flags);
    }

    private Fault missing(AddressSpace space, Vma vma, long firstVpn, int flags) {
        UserFile file = fileOf(vma);
        long page = vma.filePageOf(firstVpn) >>> UserPages.HUGE_ORDER;
        boolean shared = vma.has(VmFlags.SHARED | VmFlags.MAYSHARE);
        if (shared || file.holdsOrEndsBefore(page)) {
            return filePage(space, vma, firstVpn, file.pageAt(page), flags);
        }
        long head = pages.allocateHugeZeroed(Folios.ANON | Folios.HUGETLB | Folios.EXCLUSIVE);
        if (head == UserPages.NONE) {
            return Fault.OOM;
        }
        mapOwn(space, vma, firstVpn, head, flags);
        return Fault.DONE;
    }

    private Fault filePage(AddressSpace space, Vma vma, long firstVpn, long head, int flags) {
        if (head < 0) {
            return UserFile.faultOf(head);
        }
        pages.get(head, 1);
        folios.addMapCount(head, 1);
        long pte = FaultHandler.entry(vma, head, Pte.HUGE);
        set(space, firstVpn, vma.has(VmFlags.SHARED) ? vma.maybeWritable(pte) : pte);
        return flags == FaultHandler.WRITE && !vma.has(VmFlags.SHARED)
                ? writeProtected(space, vma, firstVpn, pte, flags)
                : Fault.DONE;
    }

    private Fault writeProtected(AddressSpace space, Vma vma, long firstVpn, long pte, int flags) {
        boolean write = flags == FaultHandler.WRITE;
        if (vma.has(VmFlags.SHARED | VmFlags.MAYSHARE)) {
            if (write) {
                set(space, firstVpn, vma.maybeWritable(pte | Pte.DIRTY));
            }
            return Fault.DONE;
        }
        long head = Pte.pfn(pte);
        if (folios.has(head, Folios.ANON) && folios.mapCount(head) == 1) {
            folios.setExclusive(head);
            if (write) {
                set(space, firstVpn, vma.maybeWritable(pte | Pte.DIRTY));
            }
            return Fault.DONE;
        }
        return replaceByCopy(space, vma, firstVpn, pte, flags);
    }

    private Fault replaceByCopy(AddressSpace space, Vma vma, long firstVpn, long pte, int flags) {
        long head = pages.allocateHuge(Folios.ANON | Folios.HUGETLB | Folios.EXCLUSIVE);
        if (head == UserPages.NONE) {
            return Fault.OOM;
        }
        pages.copy(Pte.pfn(pte), head, UserPages.HUGE_PAGES);
        mapOwn(space, vma, firstVpn, head, flags);
        space.zap().unmapped(pte);
        return Fault.DONE;
    }

    private void mapOwn(AddressSpace space, Vma vma, long firstVpn, long head, int flags) {
        folios.addMapCount(head, 1);
        vma.hasAnonPages = true;
        long pte = FaultHandler.entry(vma, head, Pte.HUGE);
        set(space, firstVpn, flags == FaultHandler.WRITE ? vma.maybeWritable(pte | Pte.DIRTY) : pte);
    }

    /** Writes the 512 entries of a huge page; the first one is given. */
    static void set(AddressSpace space, long firstVpn, long pte) {
        long head = Pte.pfn(pte);
        for (int i = 0; i < UserPages.HUGE_PAGES; i++) {
            space.table().set(firstVpn + i, Pte.withPfn(pte, head + i));
        }
    }

    private static UserFile fileOf(Vma vma) {
        UserFile file = vma.file;
        if (file == null) {
            throw new IllegalStateException("huge pages without a file at " + vma);
        }
        return file;
    }

    /** Maps a new transparent huge page around a page, if nothing stands in the way; else a small page has to do. */
    boolean mapTransparent(AddressSpace space, Vma vma, long vpn) {
        long firstVpn = vpn & -UserPages.HUGE_PAGES;
        long endVpn = firstVpn + UserPages.HUGE_PAGES;
        if (firstVpn < vma.firstVpn() || endVpn > vma.endVpn() || space.table().nextUsed(firstVpn, endVpn) < endVpn) {
            return false;
        }
        long head = pages.allocateHugeZeroed(Folios.ANON | Folios.EXCLUSIVE);
        if (head == UserPages.NONE) {
            return false;
        }
        pages.get(head, (int) UserPages.HUGE_PAGES - 1);
        folios.addMapCount(head, (int) UserPages.HUGE_PAGES);
        vma.hasAnonPages = true;
        set(space, firstVpn, vma.maybeWritable(FaultHandler.entry(vma, head, Pte.DIRTY)));
        return true;
    }
}
