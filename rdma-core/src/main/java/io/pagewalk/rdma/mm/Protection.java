package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;

/** Changes what a process may do with ranges that it has: mprotect and pkey_mprotect. Callers hold the lock. */
final class Protection {
    /** The MAY flags lie so many bits above those they allow. */
    private static final int MAY_SHIFT = 4;

    private final AddressSpace space;
    private final Mapper mapper;

    Protection(AddressSpace space, Mapper mapper) {
        this.space = space;
        this.mapper = mapper;
    }

    /** Changes range after range, up to the first that cannot be: 0, -EINVAL, -EACCES or -ENOMEM. */
    int protect(long address, long length, int prot, int key) {
        if (!Addresses.isAligned(address, Addresses.PAGE_SIZE)) {
            return -Errno.EINVAL;
        }
        if (!Addresses.lessOrEqual(address, Mapper.TASK_SIZE)
                || !Addresses.lessOrEqual(length, Mapper.TASK_SIZE - address)) {
            return -Errno.ENOMEM;
        }
        long end = address + Addresses.alignUp(length, Addresses.PAGE_SIZE);
        long at = address;
        while (at < end) {
            Vma vma = space.vmas().find(at);
            if (vma == null) {
                return -Errno.ENOMEM;
            }
            long partEnd = Math.min(end, vma.end);
            int failed = protectPart(vma, at, partEnd, Mapper.accessOf(prot), key);
            if (failed != 0) {
                return failed;
            }
            at = partEnd;
        }
        return 0;
    }

    private int protectPart(Vma vma, long start, long end, long access, int key) {
        if ((access & ~(vma.flags >>> MAY_SHIFT)) != 0) {
            return -Errno.EACCES;
        }
        int failed = mapper.split(start, end);
        if (failed != 0) {
            return failed;
        }
        for (Vma part : space.vmas().overlapping(start, end)) {
            part.flags = (part.flags & ~VmFlags.ACCESS) | access;
            part.protectionKey = key;
            changeEntries(part);
        }
        return 0;
    }

    private void changeEntries(Vma vma) {
        PageTable table = space.table();
        long end = vma.endVpn();
        for (long vpn = table.nextUsed(vma.firstVpn(), end); vpn < end; vpn = table.nextUsed(vpn + 1, end)) {
            long pte = table.get(vpn);
            if (Pte.isMapped(pte)) {
                table.set(vpn, changed(vma, pte));
            }
        }
    }

    private long changed(Vma vma, long pte) {
        long bare = Pte.withProtectionKey(pte, vma.protectionKey) & ~(Pte.PRESENT | Pte.PROTNONE | Pte.WRITE);
        if (!vma.isAccessible()) {
            return bare | Pte.PROTNONE;
        }
        return vma.has(VmFlags.WRITE) && needsNoWriteFault(vma, pte)
                ? bare | Pte.PRESENT | Pte.WRITE
                : bare | Pte.PRESENT;
    }

    private boolean needsNoWriteFault(Vma vma, long pte) {
        if (vma.has(VmFlags.SHARED)) {
            return !vma.needsDirtyTracking() || Pte.has(pte, Pte.DIRTY);
        }
        Folios folios = space.memory().folios();
        return !Pte.has(pte, Pte.SPECIAL) && folios.has(Pte.pfn(pte), Folios.ANON) && folios.isExclusive(Pte.pfn(pte));
    }
}
