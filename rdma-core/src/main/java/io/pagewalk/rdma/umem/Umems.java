package io.pagewalk.rdma.umem;

import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.Scatterlists;
import io.pagewalk.dma.scatterlist.SgAppendTable;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.IbDma;
import io.pagewalk.rdma.ReregFlags;
import io.pagewalk.rdma.mm.AddressSpace;
import io.pagewalk.rdma.mm.GupFlags;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserMemory;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Registers memory of processes for devices: {@code ib_umem_get} and {@code ib_umem_release} of one machine.
 *
 * <p>Two tiers with one set of semantics: {@link #get} returns the kernel's errno and fills a result, {@link #pin} is
 * for a {@code try} block and throws with the cause. Allocations that the kernel could fail are the failure points
 * {@code umem.struct} and {@code umem.page_list}; those of the parts below have their own.
 *
 * <p>Implements rdma:UMEM-2 to UMEM-18, UMEM-21, UMEM-22, UMEM-28, UMEM-29. Thread-safe; a result and a umem are not.
 */
public final class Umems {
    /*
     * A registration passes these steps: the checks that need nothing (UMEM-3 to UMEM-5), the structure and a page for the
     * list of pinned pages (UMEM-6, UMEM-7), the charge for the whole range before any page is touched (UMEM-8, UMEM-10),
     * the pages, a batch of 512 at a time, each batch appended to the table before the next is pinned (UMEM-15), and the
     * mapping (UMEM-17). Each step undoes the ones before it in reverse when it fails (UMEM-18).
     *
     * A batch that comes back short is not an error: the next call begins at the page that could not be had and reports
     * it. What is given back at the end is counted anew from iova, so a driver that moved iova inside its page gives back
     * another number than was charged (UMEM-23); undoing a failed registration cannot meet that, as nobody had it yet.
     */

    private static final int PAGE_BYTES = 1 << Addresses.PAGE_SHIFT;

    /** As many as a page holds pointers to (UMEM-7). */
    private static final int BATCH_PAGES = PAGE_BYTES / Long.BYTES;

    private final Machine machine;
    private final Pins pins;
    private final Scatterlists lists;
    private final FailurePoint structPoint;
    private final FailurePoint pageListPoint;
    private final boolean supported;
    private final boolean forcing;

    private Umems(Machine machine, Pins pins) {
        this.machine = machine;
        this.pins = pins;
        lists = machine.scatterlists();
        structPoint = machine.failures().point("umem.struct");
        pageListPoint = machine.failures().point("umem.page_list");
        supported = machine.kernelConfig().infinibandUserMem();
        forcing = machine.kernelModel().forcesReadOnlyRegistrations();
    }

    /**
     * Finds where memory is registered on a machine.
     *
     * @param machine the machine
     * @return its one
     */
    public static Umems of(Machine machine) {
        Pins pins = UserMemory.of(machine).pins();
        return machine.extension(Umems.class, m -> new Umems(m, pins));
    }

    // ---- registering

    /**
     * {@code ib_umem_get}: pins, charges and maps memory of a process for a device.
     *
     * @param device the device
     * @param cpu on which the process runs
     * @param process whose memory it is, and who is charged
     * @param userAddr its first byte; the device address is the same until a driver moves it
     * @param sizeBytes length, unsigned; with 0 an address inside a page registers that page (rdma:UMEM-9)
     * @param access rights, of {@link AccessFlags}; those that {@link AccessFlags#writable} names need writable pages
     * @param result takes the registration, or the cause of the failure
     * @return 0; with nothing held and nothing charged -EINVAL, -EPERM, -EOPNOTSUPP or -ENOMEM of the checks, or what
     *     pinning, listing or mapping gave
     * @throws IllegalArgumentException when device or process is of another machine
     * @throws IllegalStateException when the process has exited, or exits meanwhile; nothing is held then
     * @throws IndexOutOfBoundsException when there is no such CPU
     */
    public int get(
            IbDevice device, int cpu, Process process, long userAddr, long sizeBytes, int access, UmemResult result) {
        Objects.requireNonNull(result, "result");
        requireReady(device, process);
        IbDma dma = device.dma(cpu);
        int refused = refuse(process, userAddr, sizeBytes, access, result);
        if (refused != 0) {
            return refused;
        }
        if (structPoint.fails()) {
            return result.failed(UmemFailureReason.NO_KERNEL_MEMORY, Errno.ENOMEM);
        }
        AddressSpace owner = process.addressSpace();
        Umem umem = new Umem(this, device, cpu, owner, userAddr, sizeBytes, access, new SgAppendTable());
        owner.grab();
        int error = -1;
        try {
            error = fill(umem, process, dma, access, result);
        } finally {
            if (error != 0) {
                owner.drop();
            }
        }
        return error == 0 ? result.made(umem) : error;
    }

    private void requireReady(IbDevice device, Process process) {
        if (device.machine() != machine || process.machine() != machine) {
            throw new IllegalArgumentException(
                    "device " + device + " and " + process + " must both be of the machine that registers");
        }
        if (process.hasExited()) {
            throw new IllegalStateException(process + " registers nothing any more");
        }
    }

    /** What needs no memory to be refused (UMEM-3 to UMEM-5, UMEM-29). */
    private int refuse(Process process, long userAddr, long sizeBytes, int access, UmemResult result) {
        if (!supported) {
            return result.failed(UmemFailureReason.NO_USER_MEMORY, Errno.EOPNOTSUPP);
        }
        if (MemlockBudget.wraps(userAddr, sizeBytes)) {
            return result.failed(UmemFailureReason.RANGE_WRAPS, Errno.EINVAL, userAddr, sizeBytes);
        }
        if (!process.canDoMlock()) {
            return result.failed(
                    UmemFailureReason.MAY_NOT_LOCK, Errno.EPERM, MemlockBudget.pages(userAddr, sizeBytes) * PAGE_BYTES);
        }
        if ((access & AccessFlags.ON_DEMAND) != 0) {
            return result.failed(UmemFailureReason.ON_DEMAND, Errno.EOPNOTSUPP);
        }
        return 0;
    }

    /** Charges, pins and maps; on error nothing of that is left (UMEM-7 to UMEM-18). */
    private int fill(Umem umem, Process process, IbDma dma, int access, UmemResult result) {
        if (pageListPoint.fails()) {
            return result.failed(UmemFailureReason.NO_KERNEL_MEMORY, Errno.ENOMEM);
        }
        long npages = umem.numPages();
        if (npages == 0 || Addresses.lessThan(MemlockBudget.MAX_PAGES, npages)) {
            return result.failed(UmemFailureReason.PAGE_COUNT, Errno.EINVAL, npages);
        }
        int error = charge(process, npages, result);
        if (error != 0) {
            return error;
        }
        int failed = -1;
        try {
            failed = pinAndMap(umem, process, dma, access, result);
        } finally {
            if (failed != 0) {
                unpinAndFree(umem, false);
                umem.owner().subPinnedVm(umem.numPages());
            }
        }
        return failed;
    }

    private int pinAndMap(Umem umem, Process process, IbDma dma, int access, UmemResult result) {
        int error = pinAll(umem, process, dma, umem.numPages(), result);
        return error == 0 ? map(umem, dma, access, result) : error;
    }

    /** Charges the whole range at once, so that two registrations cannot both take the last pages (UMEM-10). */
    private static int charge(Process process, long npages, UmemResult result) {
        AddressSpace owner = process.addressSpace();
        long limit = process.memlockLimitBytes() >>> Addresses.PAGE_SHIFT;
        long pinned = owner.addPinnedVm(npages);
        if (Addresses.lessThan(limit, pinned) && !process.hasCapIpcLock()) {
            owner.subPinnedVm(npages);
            return result.failed(
                    UmemFailureReason.MEMLOCK_LIMIT,
                    Errno.ENOMEM,
                    npages,
                    pinned - npages,
                    limit,
                    pinned << Addresses.PAGE_SHIFT);
        }
        return 0;
    }

    /** Pins batch after batch into the table (UMEM-15, UMEM-16). */
    private int pinAll(Umem umem, Process process, IbDma dma, long npages, UmemResult result) {
        long[] pfns = new long[BATCH_PAGES];
        int gupFlags = gupFlags(umem.isWritable(), forcing);
        long maxSegmentBytes = dma.maxSegmentBytes();
        long cur = umem.userAddr() & Addresses.PAGE_MASK;
        long left = npages;
        while (left > 0) {
            int pinned = process.pinUserPagesFast(cur, (int) Math.min(left, BATCH_PAGES), gupFlags, pfns);
            if (pinned < 0) {
                return result.failed(UmemFailureReason.CANNOT_PIN, -pinned, cur, npages - left, npages);
            }
            cur += (long) pinned << Addresses.PAGE_SHIFT;
            left -= pinned;
            int error = append(umem, pfns, pinned, maxSegmentBytes, left);
            if (error != 0) {
                pins.unpinUserPagesDirtyLock(pfns, pinned, false);
                return result.failed(UmemFailureReason.CANNOT_LIST, -error, maxSegmentBytes, npages);
            }
        }
        return 0;
    }

    /** FORCE is a 5.x kernel's way to a page of its own for a registration that only reads (UMEM-11, UMEM-12). */
    static int gupFlags(boolean writable, boolean forcing) {
        if (forcing) {
            return GupFlags.WRITE | GupFlags.LONGTERM | (writable ? 0 : GupFlags.FORCE);
        }
        return GupFlags.LONGTERM | (writable ? GupFlags.WRITE : 0);
    }

    /** No list has as many entries as would be left beyond an int, so that it says "more than this chunk" as well. */
    private int append(Umem umem, long[] pfns, int count, long maxSegmentBytes, long left) {
        int leftPages = (int) Math.min(left, Integer.MAX_VALUE);
        long bytes = (long) count << Addresses.PAGE_SHIFT;
        return lists.allocAppendTableFromPages(umem.append(), pfns, count, 0, bytes, maxSegmentBytes, leftPages);
    }

    /** Maps for both directions, whatever the rights (UMEM-17). */
    private static int map(Umem umem, IbDma dma, int access, UmemResult result) {
        int attrs = (access & AccessFlags.RELAXED_ORDERING) != 0 ? DmaAttrs.WEAK_ORDERING : DmaAttrs.NONE;
        SgTable table = umem.table();
        int error = dma.mapSgTable(table, DmaDirection.BIDIRECTIONAL, attrs);
        if (error != 0) {
            result.failed(UmemFailureReason.CANNOT_MAP, -error, table.origNents());
            result.because(dma.lastFailure());
        }
        return error;
    }

    private void unpinAndFree(Umem umem, boolean dirty) {
        SgTable table = umem.table();
        try {
            for (int i = 0; i < table.origNents(); i++) {
                long firstPfn = table.pageAddr(i) >>> Addresses.PAGE_SHIFT;
                long nrPages = Addresses.alignUp(table.lengthBytes(i), PAGE_BYTES) >>> Addresses.PAGE_SHIFT;
                pins.unpinUserPageRangeDirtyLock(firstPfn, nrPages, dirty);
            }
        } finally {
            lists.freeAppendTable(umem.append());
        }
    }

    // ---- releasing

    /**
     * {@code ib_umem_release}: unmaps, unpins and gives back the charge, to who registered, whoever calls
     * (rdma:UMEM-22). Pages of a writable registration are dirty afterwards, written or not.
     *
     * @param umem the registration; null does nothing
     * @throws IllegalStateException when it was released already, or is another machine's; nothing changes then. Also
     *     when a page was unpinned by other hands; list and charge are given back then, and pages behind it stay pinned
     */
    public void release(@Nullable Umem umem) {
        if (umem != null) {
            release(umem, umem.cpu());
        }
    }

    /**
     * {@link #release(Umem)} on a CPU.
     *
     * @param umem the registration
     * @param cpu who calls
     * @throws IllegalStateException when it was released already, or is another machine's; nothing changes then. Also
     *     when the machine is closed and its IOMMU cannot unmap any more; the pages and the charge are given back then,
     *     and when a page was unpinned by other hands, as {@link #release(Umem)} says
     * @throws IndexOutOfBoundsException when there is no such CPU; nothing changes then
     */
    public void release(Umem umem, int cpu) {
        if (umem.device().machine() != machine) {
            throw new IllegalStateException("umem " + umem + " is of another machine");
        }
        IbDma dma = umem.device().dma(cpu);
        umem.markReleased();
        try {
            dma.unmapSgTable(umem.table(), DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        } finally {
            giveBack(umem);
        }
    }

    private void giveBack(Umem umem) {
        try {
            unpinAndFree(umem, umem.isWritable());
        } finally {
            umem.owner().subPinnedVm(umem.numPages());
            umem.owner().drop();
        }
    }

    // ---- convenience

    /**
     * Registers memory for the time of a {@code try} block, from CPU 0.
     *
     * @param device the device
     * @param process whose memory it is
     * @param userAddr its first byte
     * @param sizeBytes length, unsigned
     * @param access rights, of {@link AccessFlags}
     * @return the registration; closing it releases
     * @throws UmemException with the cause, its numbers and what to turn
     */
    public Umem pin(IbDevice device, Process process, long userAddr, long sizeBytes, int access) {
        UmemResult result = new UmemResult();
        if (get(device, 0, process, userAddr, sizeBytes, access, result) != 0) {
            throw new UmemException(
                    device + " cannot register " + Addresses.hexRange(userAddr, sizeBytes) + " of " + process,
                    result.failure());
        }
        return result.umem();
    }

    // ---- questions of drivers

    /**
     * {@code ib_umem_check_rereg}: whether a registration may get other rights without being pinned anew.
     *
     * @param umem the registration; null for a region without one
     * @param flags what changes, of {@link ReregFlags}
     * @param newAccess the new rights
     * @return 0, or -EACCES when they write and the pages were pinned for reading (rdma:UMEM-28)
     */
    public static int checkRereg(@Nullable Umem umem, int flags, int newAccess) {
        boolean accessAlone = (flags & (ReregFlags.ACCESS | ReregFlags.TRANS)) == ReregFlags.ACCESS;
        boolean gainsWrite = umem != null && !umem.isWritable() && AccessFlags.writable(newAccess);
        return accessAlone && gainsWrite ? -Errno.EACCES : 0;
    }

    /**
     * {@code ib_umem_find_best_pgsz} of this kernel.
     *
     * @param region the region
     * @param pageSizes the sizes that the device has, each a bit
     * @param virtAddr where the region shall appear
     * @return {@link UmemRegion#findBestPgsz(long, long)}; 0 with nothing changed when memory of processes is not
     *     supported (rdma:UMEM-29)
     */
    public long findBestPgsz(UmemRegion region, long pageSizes, long virtAddr) {
        return supported ? region.findBestPgsz(pageSizes, virtAddr) : 0;
    }
}
