package io.pagewalk.rdma.mm;

/**
 * Copies an address space for a child: its ranges, and of its page table what a fault could not bring back. Implements
 * rdma:MM-13 and MM-14.
 */
final class ForkCopy {
    private final AddressSpace parent;
    private final AddressSpace child;
    private final UserMemory memory;
    private final UserPages pages;
    private final Folios folios;

    ForkCopy(AddressSpace parent, AddressSpace child) {
        this.parent = parent;
        this.child = child;
        memory = parent.memory();
        pages = memory.pages();
        folios = memory.folios();
    }

    /** False when there is not enough memory; the child then has a part. */
    boolean copy() {
        for (Vma vma : parent.vmas().all()) {
            if (!vma.has(VmFlags.DONTCOPY) && !copyRange(vma)) {
                return false;
            }
        }
        return true;
    }

    private boolean copyRange(Vma vma) {
        if (!child.vmas().canAdd()) {
            return false;
        }
        Vma copy = vma.copy();
        copy.flags &= ~VmFlags.LOCKED;
        child.vmas().add(copy);
        if (vma.has(VmFlags.WIPEONFORK)) {
            copy.hasAnonPages = false;
            return true;
        }
        return !needsEntries(vma) || copyEntries(vma);
    }

    /** Pages of files and bare frames come back with a fault; the process's own, and those of devices, do not. */
    private static boolean needsEntries(Vma vma) {
        return vma.hasAnonPages || vma.has(VmFlags.MIXEDMAP);
    }

    private boolean copyEntries(Vma vma) {
        long step = vma.isHugetlb() ? UserPages.HUGE_PAGES : 1;
        long end = vma.endVpn();
        for (long vpn = parent.table().nextUsed(vma.firstVpn(), end);
                vpn < end;
                vpn = parent.table().nextUsed(vpn + step, end)) {
            if (!child.table().prepare(vpn) || !copyEntry(vma, vpn)) {
                return false;
            }
        }
        return true;
    }

    private boolean copyEntry(Vma vma, long vpn) {
        long pte = parent.table().get(vpn);
        if (!Pte.isMapped(pte) || Pte.has(pte, Pte.SPECIAL)) {
            child.table().set(vpn, vma.isCowMapping() ? pte & ~Pte.WRITE : pte);
            return true;
        }
        long pfn = Pte.pfn(pte);
        int state = folios.state(pfn);
        if ((state & Folios.ANON) != 0 && folios.isExclusive(pfn)) {
            if (belongsToADevice(pfn)) {
                return giveCopy(vma, vpn, pfn);
            }
            folios.clearExclusive(pfn);
        }
        share(vma, vpn, pte, Folios.headOf(pfn, state));
        return true;
    }

    private boolean belongsToADevice(long pfn) {
        return memory.model().keepsPinnedPagesWithTheParent()
                && parent.hasPinned()
                && memory.pins().maybeDmaPinned(pfn);
    }

    private void share(Vma vma, long vpn, long pte, long head) {
        pages.get(head, 1);
        folios.addMapCount(head, 1);
        long shared = vma.isCowMapping() ? pte & ~Pte.WRITE : pte;
        write(parent, vma, vpn, shared);
        write(child, vma, vpn, (vma.has(VmFlags.SHARED) ? shared & ~Pte.DIRTY : shared) & ~Pte.ACCESSED);
    }

    private static void write(AddressSpace space, Vma vma, long vpn, long pte) {
        if (vma.isHugetlb()) {
            HugetlbFaults.set(space, vpn, pte);
        } else {
            space.table().set(vpn, pte);
        }
    }

    private boolean giveCopy(Vma vma, long vpn, long pfn) {
        int bits = Folios.ANON | Folios.EXCLUSIVE;
        long copy = vma.isHugetlb() ? pages.allocateHuge(bits | Folios.HUGETLB) : pages.allocate(bits);
        if (copy == UserPages.NONE) {
            return false;
        }
        pages.copy(pfn, copy, vma.isHugetlb() ? UserPages.HUGE_PAGES : 1);
        folios.addMapCount(copy, 1);
        long pte = FaultHandler.entry(vma, copy, Pte.DIRTY | (vma.isHugetlb() ? Pte.HUGE : 0));
        write(child, vma, vpn, vma.maybeWritable(pte));
        return true;
    }
}
