package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;
import org.jspecify.annotations.Nullable;

/**
 * Finds the first page that a pin would stop at, without pinning or faulting. The caller holds the lock.
 *
 * <p>A caller that goes on where the last call came short is stopped by a page alone that the fast phase would not take
 * and that the slow phase refuses. So a range that the slow phase refuses ends at its first page that the fast phase
 * would not take, and a range that it accepts at the first page that no fault can bring.
 */
final class PinProbe {
    private static final long NONE = Long.MAX_VALUE;

    /** What callers pin at a time, which is what ends outside the address space as a whole. */
    private static final long BATCH_PAGES = Addresses.PAGE_SIZE / Long.BYTES;

    private final UserMemory memory;
    private final FastPin fast;

    PinProbe(UserMemory memory, FastPin fast) {
        this.memory = memory;
        this.fast = fast;
    }

    @Nullable PinRefusal probe(Process process, long userAddr, long nrPages, int gupFlags) {
        long firstVpn = userAddr >>> Addresses.PAGE_SHIFT;
        long room = Math.max(0, (Mapper.TASK_SIZE >>> Addresses.PAGE_SHIFT) - firstVpn);
        long pages = nrPages <= room ? nrPages : room - room % BATCH_PAGES;
        PinRefusal found = probeInside(process, firstVpn, firstVpn + pages, gupFlags);
        if (found != null || pages == nrPages) {
            return found;
        }
        return refusal(firstVpn + pages, PinRefusal.Cause.ABOVE_TASK_SIZE);
    }

    private @Nullable PinRefusal probeInside(Process process, long firstVpn, long endVpn, int gupFlags) {
        VmaMap vmas = process.addressSpace().vmas();
        long vpn = firstVpn;
        while (vpn < endVpn) {
            Vma vma = vmas.find(vpn << Addresses.PAGE_SHIFT);
            if (vma == null) {
                return refusal(vpn, PinRefusal.Cause.NOT_MAPPED);
            }
            long end = Math.min(endVpn, vma.endVpn());
            PinRefusal.Cause refused = VmaChecks.refusal(vma, gupFlags, memory.model(), process.protectionKeys());
            if (refused == null) {
                refused = process.isKilled() ? PinRefusal.Cause.KILLED : null;
            }
            PinRefusal found = refused == null
                    ? pages(process, vma, vpn, end, gupFlags)
                    : behindFast(process, vpn, end, gupFlags, refused);
            if (found != null) {
                return found;
            }
            vpn = end;
        }
        return null;
    }

    private @Nullable PinRefusal behindFast(
            Process process, long firstVpn, long endVpn, int gupFlags, PinRefusal.Cause refused) {
        PageTable table = process.addressSpace().table();
        for (long vpn = firstVpn; vpn < endVpn; vpn++) {
            if (!fast.wouldTake(table.get(vpn), gupFlags, process.protectionKeys())) {
                return refusal(vpn, refused);
            }
        }
        return null;
    }

    /** Steps from one page that is there to the next; what lies between is faulted in, as far as anything is behind. */
    private @Nullable PinRefusal pages(Process process, Vma vma, long firstVpn, long endVpn, int gupFlags) {
        PageTable table = process.addressSpace().table();
        long vpn = firstVpn;
        while (vpn < endVpn) {
            long used = table.nextUsed(vpn, endVpn);
            long missing = firstWithoutPage(vma, vpn, used);
            if (missing != NONE) {
                return refusal(missing, PinRefusal.Cause.NO_PAGE);
            }
            PinRefusal.Cause refused = used < endVpn ? present(table.get(used), gupFlags) : null;
            if (refused != null) {
                return refusal(used, refused);
            }
            vpn = used + 1;
        }
        return null;
    }

    private static long firstWithoutPage(Vma vma, long vpn, long endVpn) {
        if (vpn >= endVpn || vma.isAnonymous()) {
            return NONE;
        }
        UserFile file = vma.file;
        if (file == null) {
            return vpn;
        }
        int shift = vma.isHugetlb() ? UserPages.HUGE_ORDER : 0;
        long page = file.firstUnavailable(vma.filePageOf(vpn) >>> shift, (vma.filePageOf(endVpn - 1) >>> shift) + 1);
        return page == NONE ? NONE : Math.max(vpn, vma.firstVpn() + (page << shift) - vma.pgoff);
    }

    private PinRefusal.@Nullable Cause present(long pte, int gupFlags) {
        if (!Pte.isMapped(pte)) {
            return PinRefusal.Cause.NO_PAGE;
        }
        long pfn = Pte.pfn(pte);
        boolean peer = memory.folios().state(pfn) == 0 && fast.isPeerMemory(pfn);
        return peer && (gupFlags & GupFlags.PCI_P2PDMA) == 0 ? PinRefusal.Cause.PEER_MEMORY : null;
    }

    private static PinRefusal refusal(long vpn, PinRefusal.Cause cause) {
        return new PinRefusal(vpn << Addresses.PAGE_SHIFT, cause);
    }
}
