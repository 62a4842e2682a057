package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.DevicePages;

/**
 * The fast phase of a pin: takes pages as long as their entries say all that has to be known. Implements rdma:GUP-4,
 * GUP-5, GUP-13, GUP-19 and GUP-20.
 */
final class FastPin {
    private final UserMemory memory;
    private final Pins pins;
    private final Folios folios;
    private final DevicePages devicePages;

    FastPin(UserMemory memory, Machine machine) {
        this.memory = memory;
        pins = memory.pins();
        folios = memory.folios();
        devicePages = machine.devicePages();
    }

    /** Pins pages from the first on, and fills in their frames; says how many it could take. Allocates nothing. */
    int pin(AddressSpace space, long firstVpn, int nrPages, int gupFlags, ProtectionKeys keys, long[] pfns) {
        int done = 0;
        while (done < nrPages) {
            long vpn = firstVpn + done;
            long[] leaf = space.table().leaf(vpn);
            if (leaf == null) {
                return done;
            }
            int index = PageTable.indexOf(vpn);
            int end = Math.min(PageTable.LEAF_ENTRIES, index + nrPages - done);
            for (; index < end; index++, done++) {
                if (!takes(leaf[index], gupFlags, keys)) {
                    return done;
                }
                pfns[done] = Pte.pfn(leaf[index]);
            }
        }
        return done;
    }

    /** Whether it would take a page, which it leaves as it is. */
    boolean wouldTake(long pte, int gupFlags, ProtectionKeys keys) {
        if (!entryAllows(pte, gupFlags, keys)) {
            return false;
        }
        long pfn = Pte.pfn(pte);
        int state = folios.state(pfn);
        return pageAllows(pfn, state, gupFlags) && !mustBeDropped(pte, pfn, state, gupFlags);
    }

    private boolean takes(long pte, int gupFlags, ProtectionKeys keys) {
        if (!entryAllows(pte, gupFlags, keys)) {
            return false;
        }
        long pfn = Pte.pfn(pte);
        int state = folios.state(pfn);
        if (!pageAllows(pfn, state, gupFlags) || !pins.pin(pfn, state, 1)) {
            return false;
        }
        if (mustBeDropped(pte, pfn, state, gupFlags)) {
            pins.unpinUserPageRangeDirtyLock(pfn, 1, false);
            return false;
        }
        return true;
    }

    private static boolean entryAllows(long pte, int gupFlags, ProtectionKeys keys) {
        boolean write = (gupFlags & GupFlags.WRITE) != 0;
        long needed = write ? Pte.PRESENT | Pte.WRITE : Pte.PRESENT;
        if ((pte & (needed | Pte.SPECIAL)) != needed || !keys.allow(Pte.protectionKey(pte), write)) {
            return false;
        }
        return (gupFlags & GupFlags.LONGTERM) == 0 || !Pte.has(pte, Pte.DEVMAP);
    }

    private boolean pageAllows(long pfn, int state, int gupFlags) {
        if (state == 0 && isPeerMemory(pfn)) {
            return (gupFlags & GupFlags.PCI_P2PDMA) != 0;
        }
        return (gupFlags & GupFlags.LONGTERM) == 0 || (state & Folios.NOT_LONGTERM_PINNABLE) == 0;
    }

    boolean isPeerMemory(long pfn) {
        DevicePageMap map = devicePages.mapOf(pfn);
        return map != null && map.kind() == DevicePageMap.Kind.PCI_P2PDMA;
    }

    /** What is only known of a page that is held already. */
    private boolean mustBeDropped(long pte, long pfn, int state, int gupFlags) {
        if ((state & Folios.SECRETMEM) != 0) {
            return true;
        }
        int longWrite = GupFlags.LONGTERM | GupFlags.WRITE;
        if ((gupFlags & longWrite) == longWrite
                && (state & (Folios.FILE | Folios.SHMEM | Folios.HUGETLB)) == Folios.FILE
                && memory.model().refusesLongtermWritesToTrackedFiles()) {
            return true;
        }
        return !Pte.has(pte, Pte.WRITE) && mustUnshare(pfn, state, gupFlags);
    }

    /**
     * GUP-19: there is no range to ask whether it is private, so every page that is not anonymous has to be looked at.
     */
    private boolean mustUnshare(long pfn, int state, int gupFlags) {
        if ((gupFlags & GupFlags.WRITE) != 0 || !memory.model().unsharesBeforeReadOnlyPins()) {
            return false;
        }
        return (state & Folios.ANON) != 0 ? !folios.isExclusive(pfn) : (gupFlags & GupFlags.LONGTERM) != 0;
    }
}
