package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageFrames;

/**
 * The slow phase of a pin: looks up the ranges, faults pages in, breaks what has to be broken, and moves pages that
 * must not be pinned for long. Implements rdma:GUP-7 to GUP-12 and GUP-14 to GUP-16.
 */
final class SlowPin {
    /** What following an entry can say besides a frame and a negated errno. */
    private static final long NEEDS_FAULT = -1000;

    private static final long NEEDS_UNSHARE = -1001;

    private final UserMemory memory;
    private final Pins pins;
    private final Folios folios;
    private final PageFrames frames;
    private final FastPin fast;
    private final FaultHandler faults;
    private final Migration migration;

    SlowPin(UserMemory memory, FastPin fast, FaultHandler faults) {
        this.memory = memory;
        this.fast = fast;
        this.faults = faults;
        pins = memory.pins();
        folios = memory.folios();
        frames = memory.machine().frames();
        migration = new Migration(memory);
    }

    /** Pins pages and fills in their frames from an index on; gives how many, or a negated errno if none. */
    int pin(Process process, long firstVpn, int nrPages, int gupFlags, long[] pfns, int from) {
        while (true) {
            int taken = walk(process, firstVpn, nrPages, gupFlags, pfns, from);
            if (taken <= 0 || (gupFlags & GupFlags.LONGTERM) == 0) {
                return taken;
            }
            int moved = migration.moveUnpinnable(process.addressSpace(), firstVpn, pfns, from, taken);
            if (moved == Migration.NOTHING_TO_MOVE) {
                return taken;
            }
            if (moved < 0) {
                return moved;
            }
        }
    }

    private int walk(Process process, long firstVpn, int nrPages, int gupFlags, long[] pfns, int from) {
        AddressSpace space = process.addressSpace();
        Vma vma = null;
        for (int i = 0; i < nrPages; i++) {
            long vpn = firstVpn + i;
            if (vma == null || vpn >= vma.endVpn()) {
                vma = space.vmas().find(vpn << Addresses.PAGE_SHIFT);
                int refused = vma == null
                        ? -Errno.EFAULT
                        : VmaChecks.check(vma, gupFlags, memory.model(), process.protectionKeys());
                if (vma == null || refused != 0) {
                    return i > 0 ? i : refused;
                }
            }
            long pfn = process.isKilled() ? -Errno.EINTR : take(space, vma, vpn, gupFlags);
            if (pfn < 0) {
                return i > 0 ? i : (int) pfn;
            }
            pfns[from + i] = pfn;
        }
        return nrPages;
    }

    /** Pins one page, faulting as often as it takes; gives its frame or a negated errno. */
    private long take(AddressSpace space, Vma vma, long vpn, int gupFlags) {
        while (true) {
            long found = follow(vma, space.table().get(vpn), gupFlags);
            if (found != NEEDS_FAULT && found != NEEDS_UNSHARE) {
                return found;
            }
            if ((gupFlags & GupFlags.NOFAULT) != 0) {
                return -Errno.EFAULT;
            }
            int failed = fault(space, vma, vpn, faultFlags(found, gupFlags));
            if (failed != 0) {
                return failed;
            }
        }
    }

    private static int faultFlags(long found, int gupFlags) {
        if (found == NEEDS_UNSHARE) {
            return FaultHandler.UNSHARE;
        }
        return (gupFlags & GupFlags.WRITE) != 0 ? FaultHandler.WRITE : 0;
    }

    private int fault(AddressSpace space, Vma vma, long vpn, int faultFlags) {
        return switch (faults.handle(space, vma, vpn, faultFlags)) {
            case DONE -> 0;
            case OOM -> -Errno.ENOMEM;
            case SEGV, BUS, HWPOISON -> -Errno.EFAULT;
        };
    }

    private long follow(Vma vma, long pte, int gupFlags) {
        boolean write = (gupFlags & GupFlags.WRITE) != 0;
        if (!isThere(vma, pte)) {
            return NEEDS_FAULT;
        }
        long pfn = Pte.pfn(pte);
        boolean writable = Pte.has(pte, Pte.WRITE);
        if (write && !writable && !isWritableByForce(vma, pte, gupFlags)) {
            return NEEDS_FAULT;
        }
        if (Pte.has(pte, Pte.SPECIAL) && !memory.isZeroPage(pfn)) {
            return -Errno.EFAULT;
        }
        int state = folios.state(pfn);
        if (!writable && !write && mustUnshare(vma, pfn, state, gupFlags)) {
            return NEEDS_UNSHARE;
        }
        if (state == 0 && (gupFlags & GupFlags.PCI_P2PDMA) == 0 && fast.isPeerMemory(pfn)) {
            return -Errno.EREMOTEIO;
        }
        if (!pins.pin(pfn, state, 1)) {
            return -Errno.ENOMEM;
        }
        touch(pte, Folios.headOf(pfn, state), write);
        return pfn;
    }

    /** A page that the process itself may not touch is there for a forced pin all the same. */
    private static boolean isThere(Vma vma, long pte) {
        return Pte.has(pte, Pte.PRESENT) || (Pte.has(pte, Pte.PROTNONE) && !vma.isAccessible());
    }

    /** GUP-11. */
    private boolean isWritableByForce(Vma vma, long pte, int gupFlags) {
        return (gupFlags & GupFlags.FORCE) != 0
                && (vma.flags & (VmFlags.SHARED | VmFlags.MAYSHARE | VmFlags.WRITE | VmFlags.MAYWRITE))
                        == VmFlags.MAYWRITE
                && !Pte.has(pte, Pte.SPECIAL)
                && folios.has(Pte.pfn(pte), Folios.ANON)
                && folios.isExclusive(Pte.pfn(pte));
    }

    /** GUP-10. */
    private boolean mustUnshare(Vma vma, long pfn, int state, int gupFlags) {
        if (!memory.model().unsharesBeforeReadOnlyPins()) {
            return false;
        }
        if ((state & Folios.ANON) != 0) {
            return !folios.isExclusive(pfn);
        }
        return (gupFlags & GupFlags.LONGTERM) != 0 && vma.isCowMapping();
    }

    /** GUP-12. */
    private void touch(long pte, long headPfn, boolean write) {
        if (write && !Pte.has(pte, Pte.DIRTY) && !frames.isDirty(headPfn)) {
            frames.setDirty(headPfn);
        }
        if (!memory.isZeroPage(headPfn)) {
            folios.set(headPfn, Folios.REFERENCED);
        }
    }
}
