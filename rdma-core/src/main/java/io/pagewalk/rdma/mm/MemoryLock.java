package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;

/**
 * mlock, munlock and MAP_LOCKED: pages that stay in memory, charged to locked_vm, which has nothing to do with what
 * registrations pin (rdma:MM-18). Callers hold the lock.
 */
final class MemoryLock {
    private final AddressSpace space;
    private final Mapper mapper;
    private final Credentials credentials;
    private final FaultHandler faults;

    MemoryLock(AddressSpace space, Mapper mapper, Credentials credentials, FaultHandler faults) {
        this.space = space;
        this.mapper = mapper;
        this.credentials = credentials;
        this.faults = faults;
    }

    /** 0; -EPERM; -ENOMEM over the limit, or when part of it is not mapped or has no memory; -EAGAIN; -EINVAL. */
    int lock(long address, long length) {
        if (!credentials.canDoMlock()) {
            return -Errno.EPERM;
        }
        long start = Addresses.alignDown(address, Addresses.PAGE_SIZE);
        long end = Addresses.alignUp(address + length, Addresses.PAGE_SIZE);
        if (!Addresses.lessOrEqual(start, end) || !Addresses.lessOrEqual(end, Mapper.TASK_SIZE)) {
            return Addresses.lessThan(end, start) ? -Errno.EINVAL : -Errno.ENOMEM;
        }
        long added = ((end - start) >>> Addresses.PAGE_SHIFT) - lockedWithin(start, end);
        if (exceedsLimit(added)) {
            return -Errno.ENOMEM;
        }
        int failed = change(start, end, true);
        return failed != 0 ? failed : populate(start, end);
    }

    int unlock(long address, long length) {
        long start = Addresses.alignDown(address, Addresses.PAGE_SIZE);
        long end = Addresses.alignUp(address + length, Addresses.PAGE_SIZE);
        if (!Addresses.lessOrEqual(start, end)) {
            return -Errno.EINVAL;
        }
        return Addresses.lessOrEqual(end, Mapper.TASK_SIZE) ? change(start, end, false) : -Errno.ENOMEM;
    }

    /** What has to be asked before memory is mapped locked: 0, -EPERM or -EAGAIN. */
    int mayMapLocked(long length) {
        if (!credentials.canDoMlock()) {
            return -Errno.EPERM;
        }
        return exceedsLimit(Addresses.alignUp(length, Addresses.PAGE_SIZE) >>> Addresses.PAGE_SHIFT)
                ? -Errno.EAGAIN
                : 0;
    }

    /** Locks a range that was just mapped; what cannot be faulted in is left out. */
    void lockMapped(long start, long length) {
        long end = start + Addresses.alignUp(length, Addresses.PAGE_SIZE);
        if (change(start, end, true) == 0) {
            populate(start, end);
        }
    }

    private boolean exceedsLimit(long addedPages) {
        return Addresses.lessThan(credentials.memlockLimitPages(), space.lockedVm() + addedPages)
                && !credentials.hasCapIpcLock();
    }

    private long lockedWithin(long start, long end) {
        long pages = 0;
        for (Vma vma : space.vmas().overlapping(start, end)) {
            if (vma.has(VmFlags.LOCKED)) {
                pages += (Math.min(end, vma.end) - Math.max(start, vma.start)) >>> Addresses.PAGE_SHIFT;
            }
        }
        return pages;
    }

    private int change(long start, long end, boolean locked) {
        long at = start;
        while (at < end) {
            Vma vma = space.vmas().find(at);
            if (vma == null) {
                return -Errno.ENOMEM;
            }
            long partEnd = Math.min(end, vma.end);
            int failed = changePart(vma, at, partEnd, locked);
            if (failed != 0) {
                return failed;
            }
            at = partEnd;
        }
        return 0;
    }

    private int changePart(Vma vma, long start, long end, boolean locked) {
        if (vma.has(VmFlags.LOCKED) == locked || vma.has(VmFlags.IO | VmFlags.PFNMAP) || vma.isHugetlb()) {
            return 0;
        }
        int failed = mapper.split(start, end);
        if (failed != 0) {
            return failed;
        }
        for (Vma part : space.vmas().overlapping(start, end)) {
            part.flags ^= VmFlags.LOCKED;
            long pages = part.endVpn() - part.firstVpn();
            space.addLockedVm(locked ? pages : -pages);
        }
        return 0;
    }

    private int populate(long start, long end) {
        for (Vma vma : space.vmas().overlapping(start, end)) {
            if (vma.has(VmFlags.IO | VmFlags.PFNMAP)) {
                continue;
            }
            if (!vma.isAccessible()) {
                return -Errno.ENOMEM;
            }
            int failed = populate(vma, Math.max(start, vma.start), Math.min(end, vma.end));
            if (failed != 0) {
                return failed;
            }
        }
        return 0;
    }

    /** Private memory is written to, so that each page is the process's own. */
    private int populate(Vma vma, long start, long end) {
        boolean write = (vma.flags & (VmFlags.WRITE | VmFlags.SHARED)) == VmFlags.WRITE;
        for (long vpn = start >>> Addresses.PAGE_SHIFT; vpn < end >>> Addresses.PAGE_SHIFT; vpn++) {
            Fault fault = faults.handle(space, vma, vpn, write ? FaultHandler.WRITE : 0);
            if (fault != Fault.DONE) {
                return fault == Fault.OOM ? -Errno.EAGAIN : -Errno.ENOMEM;
            }
        }
        return 0;
    }
}
