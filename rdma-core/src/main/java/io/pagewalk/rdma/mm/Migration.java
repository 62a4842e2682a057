package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageFrames;
import org.jspecify.annotations.Nullable;

/**
 * Moves pages that must not be pinned for long to where they may be: a new frame takes the place of the old one in
 * every page table, and in the file. Implements rdma:GUP-13 and GUP-14.
 *
 * <p>A page that somebody else refers to, such as another pin, cannot be moved.
 */
final class Migration {
    static final int NOTHING_TO_MOVE = 0;
    static final int MOVED = 1;

    private final UserMemory memory;
    private final UserPages pages;
    private final Folios folios;
    private final PageFrames frames;

    Migration(UserMemory memory) {
        this.memory = memory;
        pages = memory.pages();
        folios = memory.folios();
        frames = memory.machine().frames();
    }

    /**
     * If any of the pages just pinned must not be, unpins all of them and moves those.
     *
     * @return {@link #NOTHING_TO_MOVE} with all pinned; {@link #MOVED} or a negated errno with none pinned
     */
    int moveUnpinnable(AddressSpace space, long firstVpn, long[] pfns, int from, int count) {
        int i = 0;
        while (i < count && !isUnpinnable(pfns[from + i])) {
            i++;
        }
        if (i == count) {
            return NOTHING_TO_MOVE;
        }
        memory.pins().unpin(pfns, from, count, false);
        for (; i < count; i++) {
            int failed = isUnpinnable(pfns[from + i]) ? moveAt(space, firstVpn + i) : 0;
            if (failed != 0) {
                return failed;
            }
        }
        return MOVED;
    }

    private boolean isUnpinnable(long pfn) {
        return (folios.state(pfn) & Folios.NOT_LONGTERM_PINNABLE) != 0;
    }

    /** Moves the folio that a page of an address space belongs to; it may have been moved with a page before. */
    private int moveAt(AddressSpace space, long vpn) {
        long pfn = Pte.pfn(space.table().get(vpn));
        int state = folios.state(pfn);
        if ((state & Folios.NOT_LONGTERM_PINNABLE) == 0) {
            return 0;
        }
        Vma vma = space.vmas().find(vpn << Addresses.PAGE_SHIFT);
        long head = Folios.headOf(pfn, state);
        if (vma != null && move(vma, vpn - (pfn - head), head, state)) {
            return 0;
        }
        return (state & Folios.DEVICE_COHERENT) != 0 ? -Errno.EBUSY : -Errno.ENOMEM;
    }

    private boolean move(Vma vma, long headVpn, long oldHead, int state) {
        UserFile file = (state & Folios.FILE) != 0 ? vma.file : null;
        long smallPage = vma.filePageOf(headVpn);
        long filePage = vma.isHugetlb() ? smallPage >>> UserPages.HUGE_ORDER : smallPage;
        boolean cached = file != null && file.holds(filePage, oldHead);
        int references = folios.mapCount(oldHead) + (cached ? 1 : 0);
        if (frames.refCount(oldHead) != references) {
            return false;
        }
        int order = Folios.orderOf(state);
        long newHead = pages.allocatePinnable(order, 0);
        if (newHead == UserPages.NONE) {
            return false;
        }
        pages.copy(oldHead, newHead, 1L << order);
        carryOver(oldHead, newHead, order, references);
        if (file != null && cached) {
            file.replace(filePage, newHead);
        }
        repoint(oldHead, newHead, 1L << order, file, file == null ? headVpn : smallPage);
        pages.put(oldHead, references);
        return true;
    }

    private void carryOver(long oldHead, long newHead, int order, int references) {
        for (long i = 0; i < 1L << order; i++) {
            folios.clear(newHead + i, -1);
            folios.set(newHead + i, folios.state(oldHead + i) & ~Folios.NOT_LONGTERM_PINNABLE);
        }
        folios.addMapCount(newHead, folios.mapCount(oldHead));
        pages.get(newHead, references - 1);
        if (frames.isDirty(oldHead)) {
            frames.setDirty(newHead);
        }
    }

    /*
     * An anonymous page stands at the same address in every process that has it, as only fork spreads it; a page of a
     * file stands at the file's offset in every range of the file.
     */
    private void repoint(long oldHead, long newHead, long count, @Nullable UserFile file, long vpnOrFilePage) {
        for (AddressSpace space : memory.addressSpaces()) {
            if (file == null) {
                repointRange(space.table(), vpnOrFilePage, count, oldHead, newHead);
                continue;
            }
            for (Vma vma : space.vmas().all()) {
                long at = vma.firstVpn() + vpnOrFilePage - vma.pgoff;
                if (vma.file == file && at >= vma.firstVpn() && at < vma.endVpn()) {
                    repointRange(space.table(), at, count, oldHead, newHead);
                }
            }
        }
    }

    private static void repointRange(PageTable table, long vpn, long count, long oldHead, long newHead) {
        for (long i = 0; i < count; i++) {
            long pte = vpn + i < 0 ? Pte.NONE : table.get(vpn + i);
            if (Pte.isMapped(pte) && !Pte.has(pte, Pte.SPECIAL) && Pte.pfn(pte) == oldHead + i) {
                table.set(vpn + i, Pte.withPfn(pte, newHead + i));
            }
        }
    }
}
