package io.pagewalk.rdma.umem;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.mm.Process;

/**
 * How much memory a process may keep pinned and how much it has pinned: all that a registration is judged by before a
 * page is touched (rdma:MM-2, MM-3, UMEM-3 to UMEM-10). Immutable; asking changes nothing.
 *
 * @param limitBytes RLIMIT_MEMLOCK, unsigned; all ones for none
 * @param capIpcLock whether the limit does not count
 * @param pinnedPages what registrations that live are charged; signed, since a driver that moved a region inside its
 *     page gives back another number than was charged (rdma:UMEM-23)
 */
public record MemlockBudget(long limitBytes, boolean capIpcLock, long pinnedPages) {
    /** The value of a limit that is none. */
    public static final long UNLIMITED = -1L;

    /** The most that one registration may have (rdma:UMEM-8). */
    static final long MAX_PAGES = 0xffff_ffffL;

    /**
     * The budget of a process as it is now.
     *
     * @param process the process
     * @return its limit, capability and charge
     */
    public static MemlockBudget of(Process process) {
        return new MemlockBudget(
                process.memlockLimitBytes(),
                process.hasCapIpcLock(),
                process.addressSpace().pinnedVm());
    }

    /**
     * How many pages may be pinned at once.
     *
     * @return whole pages of the limit; a rest of a page counts for nothing
     */
    public long limitPages() {
        return limitBytes >>> Addresses.PAGE_SHIFT;
    }

    /**
     * Whether anything may be pinned at all, {@code can_do_mlock}.
     *
     * @return false with a limit of 0 and no capability
     */
    public boolean canDoMlock() {
        return limitBytes != 0 || capIpcLock;
    }

    /**
     * The pages that a range touches, which is what its registration is charged.
     *
     * @param userAddr first byte
     * @param sizeBytes length, unsigned; 0 inside a page is that page (rdma:UMEM-9)
     * @return their number
     */
    public static long pages(long userAddr, long sizeBytes) {
        long end = Addresses.alignUp(userAddr + sizeBytes, Addresses.PAGE_SIZE);
        return (end - Addresses.alignDown(userAddr, Addresses.PAGE_SIZE)) >>> Addresses.PAGE_SHIFT;
    }

    /**
     * Says what would become of a registration, by the kernel's checks in their order. Whether its pages are there and
     * may be written is another question.
     *
     * @param userAddr first byte
     * @param sizeBytes length, unsigned
     * @return 0; -EINVAL for a range that leaves 64 bits or has no page; -EPERM when nothing may be pinned; -ENOMEM
     *     beyond the limit
     */
    public int judge(long userAddr, long sizeBytes) {
        if (wraps(userAddr, sizeBytes)) {
            return -Errno.EINVAL;
        }
        if (!canDoMlock()) {
            return -Errno.EPERM;
        }
        long pages = pages(userAddr, sizeBytes);
        if (pages == 0 || Addresses.lessThan(MAX_PAGES, pages)) {
            return -Errno.EINVAL;
        }
        return capIpcLock || Addresses.lessOrEqual(pinnedPages + pages, limitPages()) ? 0 : -Errno.ENOMEM;
    }

    /** Whether the end of a range, or of its last page, is beyond 64 bits; an end at 2^64 is (rdma:UMEM-3). */
    static boolean wraps(long userAddr, long sizeBytes) {
        long end = userAddr + sizeBytes;
        return Addresses.lessThan(end, userAddr)
                || Addresses.lessThan(Addresses.alignUp(end, Addresses.PAGE_SIZE), end);
    }

    /**
     * The budget once a registration is made.
     *
     * @param pages what it is charged
     * @return a budget with so many pages more pinned
     */
    public MemlockBudget charged(long pages) {
        return new MemlockBudget(limitBytes, capIpcLock, pinnedPages + pages);
    }
}
