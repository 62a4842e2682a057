package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.PageFrames;

/**
 * Puts pages where a process or a pin wants them: demand zero, file pages, copy-on-write and unsharing. The caller has
 * checked that the range allows the access. Implements rdma:MM-8 to MM-11 and MM-19.
 *
 * <p>Not thread-safe: the lock of {@link UserMemory} guards it.
 */
final class FaultHandler {
    /** The page is to be written. */
    static final int WRITE = 1;
    /** The page is to be the process's own, but not to be written. */
    static final int UNSHARE = 2;

    /*
     * Who may write a page where it is? An anonymous page has an exclusive bit: set when the page is made for one
     * process, cleared when fork shares it, so that a set bit proves that no other page table names the page, whatever
     * other references there are. That is what lets a pinned page stay where the device reads it while its process
     * writes it (MM-9). Without the bit, a page with one reference has no other user either: its mapping is that
     * reference.
     *
     * A 5.x kernel decides by the number of mappings alone: while a child still maps the page, the writer gets the copy
     * and the pin keeps the old page, which the parent then no longer sees.
     */

    private final UserMemory memory;
    private final UserPages pages;
    private final Folios folios;
    private final PageFrames frames;
    private final HugetlbFaults hugetlb;

    FaultHandler(UserMemory memory) {
        this.memory = memory;
        pages = memory.pages();
        folios = memory.folios();
        frames = memory.machine().frames();
        hugetlb = new HugetlbFaults(memory);
    }

    Fault handle(AddressSpace space, Vma vma, long vpn, int flags) {
        if (vma.isHugetlb()) {
            return hugetlb.handle(space, vma, vpn, flags);
        }
        if (!space.table().prepare(vpn)) {
            return Fault.OOM;
        }
        long pte = space.table().get(vpn);
        if (Pte.has(pte, Pte.POISON)) {
            return Fault.HWPOISON;
        }
        if (!Pte.isMapped(pte)) {
            return missing(space, vma, vpn, flags);
        }
        if (Pte.has(pte, Pte.WRITE) || flags == 0) {
            return touched(space, vpn, pte, flags);
        }
        return writeProtected(space, vma, vpn, pte, flags);
    }

    private static Fault touched(AddressSpace space, long vpn, long pte, int flags) {
        space.table().set(vpn, pte | Pte.ACCESSED | (flags == WRITE ? Pte.DIRTY : 0));
        return Fault.DONE;
    }

    // ---- nothing is mapped yet

    private Fault missing(AddressSpace space, Vma vma, long vpn, int flags) {
        if (vma.isAnonymous()) {
            return flags == WRITE ? ownZeroed(space, vma, vpn) : zeroPage(space, vma, vpn);
        }
        if (vma.has(VmFlags.PFNMAP)) {
            long pte = entry(vma, vma.filePageOf(vpn), Pte.SPECIAL);
            space.table().set(vpn, vma.maybeWritable(pte));
            return Fault.DONE;
        }
        return vma.file == null ? Fault.BUS : filePage(space, vma, vma.file, vpn, flags);
    }

    private Fault zeroPage(AddressSpace space, Vma vma, long vpn) {
        space.table().set(vpn, entry(vma, memory.zeroPfn(), Pte.SPECIAL));
        return Fault.DONE;
    }

    private Fault ownZeroed(AddressSpace space, Vma vma, long vpn) {
        if (vma.has(VmFlags.HUGEPAGE) && hugetlb.mapTransparent(space, vma, vpn)) {
            return Fault.DONE;
        }
        long pfn = pages.allocateZeroed(Folios.ANON | Folios.EXCLUSIVE);
        if (pfn == UserPages.NONE) {
            return Fault.OOM;
        }
        mapOwn(space, vma, vpn, pfn, WRITE);
        return Fault.DONE;
    }

    private Fault filePage(AddressSpace space, Vma vma, UserFile file, long vpn, int flags) {
        long pfn = file.pageAt(vma.filePageOf(vpn));
        if (pfn < 0) {
            return UserFile.faultOf(pfn);
        }
        boolean shared = vma.has(VmFlags.SHARED);
        if (flags == WRITE && !vma.has(VmFlags.SHARED | VmFlags.MAYSHARE)) {
            return ownCopy(space, vma, vpn, pfn, WRITE);
        }
        boolean written = flags == WRITE;
        pages.get(pfn, 1);
        folios.addMapCount(pfn, 1);
        long bits = file.kind().isDax() ? Pte.DEVMAP : 0;
        if (shared && vma.has(VmFlags.WRITE) && (written || !vma.needsDirtyTracking())) {
            bits |= Pte.WRITE;
        }
        if (written) {
            bits |= Pte.DIRTY;
            frames.setDirty(pfn);
        }
        space.table().set(vpn, entry(vma, pfn, bits));
        return Fault.DONE;
    }

    // ---- something is mapped that must not be written

    private Fault writeProtected(AddressSpace space, Vma vma, long vpn, long pte, int flags) {
        if (vma.has(VmFlags.SHARED | VmFlags.MAYSHARE)) {
            return flags == WRITE ? writeShared(space, vma, vpn, pte) : Fault.DONE;
        }
        long pfn = Pte.pfn(pte);
        if (!Pte.has(pte, Pte.SPECIAL) && folios.has(pfn, Folios.ANON) && isSoleOwner(pfn)) {
            folios.setExclusive(pfn);
            if (flags == WRITE) {
                space.table().set(vpn, vma.maybeWritable(pte | Pte.DIRTY | Pte.ACCESSED));
            }
            return Fault.DONE;
        }
        return replaceByCopy(space, vma, vpn, pte, flags);
    }

    private Fault writeShared(AddressSpace space, Vma vma, long vpn, long pte) {
        if (!Pte.has(pte, Pte.SPECIAL)) {
            frames.setDirty(folios.head(Pte.pfn(pte)));
        }
        space.table().set(vpn, vma.maybeWritable(pte | Pte.DIRTY | Pte.ACCESSED));
        return Fault.DONE;
    }

    private boolean isSoleOwner(long pfn) {
        int state = folios.state(pfn);
        if (Folios.isLarge(state)) {
            return (state & Folios.EXCLUSIVE) != 0;
        }
        if (!memory.model().keepsPinnedPagesWithTheParent()) {
            return folios.mapCount(pfn) == 1;
        }
        return (state & Folios.EXCLUSIVE) != 0 || frames.refCount(pfn) == 1;
    }

    private Fault replaceByCopy(AddressSpace space, Vma vma, long vpn, long pte, int flags) {
        Fault outcome = ownCopy(space, vma, vpn, Pte.pfn(pte), flags);
        if (outcome == Fault.DONE && !Pte.has(pte, Pte.SPECIAL)) {
            space.zap().unmapped(pte);
        }
        return outcome;
    }

    private Fault ownCopy(AddressSpace space, Vma vma, long vpn, long fromPfn, int flags) {
        boolean fromZeros = memory.isZeroPage(fromPfn);
        int bits = Folios.ANON | Folios.EXCLUSIVE;
        long pfn = fromZeros ? pages.allocateZeroed(bits) : pages.allocate(bits);
        if (pfn == UserPages.NONE) {
            return Fault.OOM;
        }
        if (!fromZeros) {
            pages.copy(fromPfn, pfn, 1);
        }
        mapOwn(space, vma, vpn, pfn, flags);
        return Fault.DONE;
    }

    // ---- entries

    private void mapOwn(AddressSpace space, Vma vma, long vpn, long pfn, int flags) {
        folios.addMapCount(pfn, 1);
        vma.hasAnonPages = true;
        long pte = entry(vma, pfn, 0);
        space.table().set(vpn, flags == WRITE ? vma.maybeWritable(pte | Pte.DIRTY) : pte);
    }

    static long entry(Vma vma, long pfn, long bits) {
        long present = vma.isAccessible() ? Pte.PRESENT : Pte.PROTNONE;
        return Pte.of(pfn, vma.protectionKey, present | Pte.ACCESSED | bits);
    }
}
