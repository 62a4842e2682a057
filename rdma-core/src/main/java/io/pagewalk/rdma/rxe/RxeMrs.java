package io.pagewalk.rdma.rxe;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.umem.Umem;
import io.pagewalk.rdma.umem.UmemResult;
import io.pagewalk.rdma.umem.Umems;
import io.pagewalk.rdma.verbs.DeviceCaps;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The memory that processes have registered with one rxe device: {@code reg_user_mr} and {@code dereg_mr} of the
 * driver, without protection domains and keys. What uverbs checks before is {@link io.pagewalk.rdma.verbs.RegMrChecks}.
 *
 * <p>Failure points: {@code rxe.mr}, {@code rxe.mr_pages}. Implements rdma:RXE-13, RXE-15, RXE-22 for memory without
 * windows. Thread-safe. Differs from Linux: a machine of a 5.x kernel gets the numbers of 6.12.
 */
public final class RxeMrs {
    /** rdma:10.1. */
    static final int FIRST_INDEX = 1;

    static final int LAST_INDEX = 0x80000;
    static final int MAX_MR = 0x7ffff;

    /** What an rxe device can do of that which decides about rights: flushes, but nothing on demand. */
    public static final DeviceCaps CAPS = new DeviceCaps(false, true, true);

    /** The rights that a region may have; others are refused, ON_DEMAND only by ib_umem_get (rdma:RXE-13). */
    private static final int ACCESS_SUPPORTED = AccessFlags.LOCAL_WRITE
            | AccessFlags.REMOTE_WRITE
            | AccessFlags.REMOTE_READ
            | AccessFlags.REMOTE_ATOMIC
            | AccessFlags.MW_BIND
            | AccessFlags.ON_DEMAND
            | AccessFlags.FLUSH_GLOBAL
            | AccessFlags.FLUSH_PERSISTENT
            | AccessFlags.OPTIONAL_RANGE;

    private final IbDevice device;
    private final Umems umems;
    private final UserMemory memory;
    private final FailurePoint structPoint;
    private final FailurePoint pagesPoint;
    private final RxePool pool = new RxePool(FIRST_INDEX, LAST_INDEX, MAX_MR);
    private final Map<Integer, RxeMr> mrs = new HashMap<>();

    /**
     * Starts without registrations.
     *
     * @param device the rxe device, which is software
     */
    public RxeMrs(IbDevice device) {
        if (!device.usesVirtDma()) {
            throw new IllegalArgumentException(device + " has a DMA device; rxe is software (rdma:DMA-1)");
        }
        this.device = device;
        umems = Umems.of(device.machine());
        memory = UserMemory.of(device.machine());
        structPoint = device.machine().failures().point("rxe.mr");
        pagesPoint = device.machine().failures().point("rxe.mr_pages");
    }

    /**
     * Registers memory of a process. A registration that fails behind the pool has used up a number all the same
     * (rdma:RXE-2).
     *
     * @param cpu on which the process runs
     * @param process whose memory it is
     * @param userAddr its first byte
     * @param sizeBytes length, unsigned
     * @param access rights, of {@link AccessFlags}
     * @param result takes the pinned memory, or why it could not be pinned
     * @return the number of the registration, positive; or with nothing held -EOPNOTSUPP for rights, -ENOMEM, -EINVAL
     *     for more regions than may be, what {@link Umems#get} gave, or -EINVAL for FLUSH_PERSISTENT on other memory
     *     than persistent
     * @throws IllegalArgumentException when the process is of another machine
     * @throws IllegalStateException when the process has exited
     * @throws IndexOutOfBoundsException when there is no such CPU
     */
    public int regUserMr(int cpu, Process process, long userAddr, long sizeBytes, int access, UmemResult result) {
        if ((access & ~ACCESS_SUPPORTED) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        if (structPoint.fails()) {
            return -Errno.ENOMEM;
        }
        int index = pool.add();
        if (index < 0) {
            return index;
        }
        int answer = -1;
        try {
            answer = register(index, cpu, process, userAddr, sizeBytes, access, result);
        } finally {
            if (answer < 0) {
                pool.remove(index);
            }
        }
        return answer;
    }

    /** The number, or why not. */
    private int register(
            int index, int cpu, Process process, long userAddr, long sizeBytes, int access, UmemResult result) {
        int error = umems.get(device, cpu, process, userAddr, sizeBytes, access, result);
        if (error == 0) {
            error = finish(index, access, result.umem(), cpu);
        }
        return error == 0 ? index : error;
    }

    private int finish(int index, int access, Umem umem, int cpu) {
        int error = pagesPoint.fails() ? -Errno.ENOMEM : checkPersistence(umem, access);
        if (error != 0) {
            umems.release(umem, cpu);
            return error;
        }
        synchronized (mrs) {
            mrs.put(index, new RxeMr(index, umem, access));
        }
        return 0;
    }

    /** A flush to persistence needs pages that persist (rdma:RXE-15). */
    private int checkPersistence(Umem umem, int access) {
        if ((access & AccessFlags.FLUSH_PERSISTENT) == 0) {
            return 0;
        }
        SgTable table = umem.table();
        for (int i = 0; i < table.origNents(); i++) {
            long firstPfn = table.pageAddr(i) >>> Addresses.PAGE_SHIFT;
            long endPfn = firstPfn + (table.lengthBytes(i) >>> Addresses.PAGE_SHIFT);
            for (long pfn = firstPfn; pfn < endPfn; pfn++) {
                if (!memory.isPersistent(pfn)) {
                    return -Errno.EINVAL;
                }
            }
        }
        return 0;
    }

    /**
     * Finds a registration.
     *
     * @param index its number
     * @return the registration, or null
     */
    public @Nullable RxeMr find(int index) {
        synchronized (mrs) {
            return mrs.get(index);
        }
    }

    /**
     * Gives a registration back: its pages are unpinned, and who registered them is no longer charged, whoever calls
     * (rdma:UMEM-22).
     *
     * @param cpu who calls
     * @param index its number
     * @throws IllegalArgumentException when there is none of that number; nothing changes then
     * @throws IndexOutOfBoundsException when there is no such CPU; nothing changes then
     * @throws IllegalStateException when its memory was released by other hands; the number is free then
     */
    public void deregMr(int cpu, int index) {
        device.dma(cpu);
        RxeMr mr;
        synchronized (mrs) {
            mr = mrs.remove(index);
        }
        if (mr == null) {
            throw new IllegalArgumentException("no memory is registered under the number " + index);
        }
        try {
            umems.release(mr.umem(), cpu);
        } finally {
            pool.remove(index);
        }
    }

    /**
     * How many registrations there are.
     *
     * @return registrations
     */
    public int size() {
        synchronized (mrs) {
            return mrs.size();
        }
    }

    @Override
    public String toString() {
        return "registrations of " + device;
    }
}
