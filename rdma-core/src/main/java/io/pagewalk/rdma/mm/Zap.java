package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.PageFrames;

/**
 * Takes entries out of a page table, and with each the reference of the mapping. A page that something else still
 * refers to, such as a pin, keeps its frame and its bytes. Implements rdma:MM-12.
 */
final class Zap {
    private final PageTable table;
    private final UserPages pages;
    private final Folios folios;
    private final PageFrames frames;

    Zap(UserMemory memory, PageTable table) {
        this.table = table;
        pages = memory.pages();
        folios = memory.folios();
        frames = memory.machine().frames();
    }

    void all(Vma vma) {
        range(vma, vma.firstVpn(), vma.endVpn());
    }

    /** Of hugetlb the range is whole huge pages. */
    void range(Vma vma, long firstVpn, long endVpn) {
        for (long vpn = table.nextUsed(firstVpn, endVpn); vpn < endVpn; vpn = table.nextUsed(vpn, endVpn)) {
            one(vma, vpn);
        }
    }

    /** Takes out a file's pages from one on, and the private copies of them (truncation). */
    void filePagesFrom(Vma vma, long firstPage) {
        long page = vma.isHugetlb() ? firstPage << UserPages.HUGE_ORDER : firstPage;
        long firstVpn = Math.max(vma.firstVpn(), vma.firstVpn() + page - vma.pgoff);
        if (firstVpn < vma.endVpn()) {
            range(vma, firstVpn, vma.endVpn());
        }
    }

    /** Takes out one page of a file, if it is mapped here; a private copy of it stays. */
    void sharedFilePage(Vma vma, long page) {
        long smallPage = vma.isHugetlb() ? page << UserPages.HUGE_ORDER : page;
        long vpn = vma.firstVpn() + smallPage - vma.pgoff;
        if (vpn < vma.firstVpn() || vpn >= vma.endVpn()) {
            return;
        }
        long pte = table.get(vpn);
        if (Pte.isMapped(pte) && !folios.has(Pte.pfn(pte), Folios.ANON)) {
            one(vma, vpn);
        }
    }

    void one(Vma vma, long vpn) {
        long pte = table.get(vpn);
        long entries = vma.isHugetlb() ? UserPages.HUGE_PAGES : 1;
        for (long each = vpn; each < vpn + entries; each++) {
            // Of a huge page, the entry that was written through has the dirty bit.
            pte |= table.get(each) & Pte.DIRTY;
            table.set(each, Pte.NONE);
        }
        if (Pte.isMapped(pte) && !Pte.has(pte, Pte.SPECIAL)) {
            unmapped(pte);
        }
    }

    /** Drops what an entry held of its page. */
    void unmapped(long pte) {
        long pfn = Pte.pfn(pte);
        int state = folios.state(pfn);
        long head = Folios.headOf(pfn, state);
        if (Pte.has(pte, Pte.DIRTY) && (state & Folios.FILE) != 0) {
            frames.setDirty(head);
        }
        folios.addMapCount(head, -1);
        pages.put(head, 1);
    }
}
