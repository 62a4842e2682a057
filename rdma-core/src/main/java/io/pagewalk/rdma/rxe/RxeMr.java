package io.pagewalk.rdma.rxe;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.PageSetter;
import io.pagewalk.rdma.SgToPages;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.umem.Umem;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Pd;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import org.jspecify.annotations.Nullable;

/**
 * A region of rxe: its private keys, state, rights and pages. Lookups judge it by those; the public keys are for its
 * user (rdma:RXE-11).
 *
 * <p>Implements rdma:RXE-10, RXE-12, RXE-23 to RXE-33, RXE-36 to RXE-39. Bytes are reached without a lock; state, keys
 * and pages change under the device's lock of keys. Differs from Linux: a page that is no RAM is a hole, where the
 * kernel would take whatever stands at that address for a page.
 */
public final class RxeMr extends Mr implements Region {
    /*
     * An address becomes a place in two steps: which entry of the page list, and where in its page. Entries are 4 KiB
     * pages for region pages of 4 KiB and more, so that the entry is counted in 4 KiB from where the region's first page
     * begins; for smaller region pages each entry is one of them, and says itself where in a 4 KiB page it begins. What is
     * copied at once ends with the 4 KiB page, which for small region pages may be beyond the entry: the bytes then come
     * from the neighbours in that page and not from the next entry (RXE-32, a quirk that is kept).
     *
     * In a 5.x kernel an entry is as long as the region's page, and address, length and offset are those that the region
     * had when it was mapped, whatever its user did with the public ones since.
     */

    static final int INVALID = 0;
    static final int FREE = 1;
    static final int VALID = 2;
    static final int ZOMBIE = 3;

    private static final long PAGE = Addresses.PAGE_SIZE;
    private static final int REMOTE = AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;

    private static final AtomicIntegerFieldUpdater<RxeMr> REFERENCES =
            AtomicIntegerFieldUpdater.newUpdater(RxeMr.class, "references");

    private final RxeDevice device;
    private final int index;
    private final boolean first;
    private final PageList pages;
    private final @Nullable FastPart fast;
    /** Changed through {@link #REFERENCES} alone. */
    private volatile int references = 1;

    private volatile int state = INVALID;
    private volatile int privateLkey;
    private volatile int privateRkey;
    private volatile int access;
    private volatile int numMw;
    private long regionPage = PAGE;
    private long firstIova;
    private long firstLength;
    private long firstOffset;

    /** What only regions for fast registration need; there may be very many of the others. */
    private static final class FastPart {
        private final SgToPages cutter = new SgToPages();
        private final long[] bytesSeen = new long[4];
        private final int maxNumSg;
        private @Nullable PageSetter setter;

        FastPart(int maxNumSg) {
            this.maxNumSg = maxNumSg;
        }

        /** Notes a key's low byte; says whether it was noted before. */
        boolean note(int key) {
            int at = key & 0xff;
            long bit = 1L << at;
            boolean seen = (bytesSeen[at >>> 6] & bit) != 0;
            bytesSeen[at >>> 6] |= bit;
            return seen;
        }
    }

    /** A region that no list is mapped to. */
    RxeMr(RxeDevice device, Pd pd, MrType type, int index) {
        this(device, pd, type, index, null, Long.MAX_VALUE);
    }

    /** A region for fast registration. */
    RxeMr(RxeDevice device, Pd pd, int index, int maxNumSg) {
        this(device, pd, MrType.MEM_REG, index, new FastPart(maxNumSg), Integer.toUnsignedLong(maxNumSg));
    }

    private RxeMr(RxeDevice device, Pd pd, MrType type, int index, @Nullable FastPart fast, long pageLimit) {
        super(pd, type);
        this.device = device;
        this.index = index;
        this.fast = fast;
        first = device.isFirst();
        pages = new PageList(
                device.ibDevice().machine().layout(),
                device.ibDevice().machine().cpuMemory(),
                pageLimit);
        setPageBytes((int) PAGE);
    }

    // ---- what it is

    /**
     * Its number in the pool: what its keys begin with (rdma:RXE-7).
     *
     * @return from 1
     */
    public int index() {
        return index;
    }

    /**
     * Rights, as lookups see them.
     *
     * @return bits of {@link AccessFlags}
     */
    public int access() {
        return access;
    }

    /**
     * Whether lookups find it.
     *
     * @return true in the state VALID
     */
    public boolean isValid() {
        return state == VALID;
    }

    /**
     * Whether it waits for a REG_MR.
     *
     * @return true in the state FREE
     */
    public boolean isFree() {
        return state == FREE;
    }

    /**
     * The local key that lookups compare.
     *
     * @return 32 bits
     */
    public int privateLkey() {
        return privateLkey;
    }

    /**
     * The remote key that lookups compare.
     *
     * @return 32 bits; 0 in a 5.x kernel for a region without remote rights
     */
    public int privateRkey() {
        return privateRkey;
    }

    /**
     * How many windows are bound to it.
     *
     * @return windows
     */
    public int boundWindows() {
        return numMw;
    }

    boolean hasRemoteAccess() {
        return (access & REMOTE) != 0;
    }

    // ---- state

    /** Both keys, private and public (rdma:RXE-7, RXE-9). */
    void giveKey(int key, int newAccess) {
        access = newAccess;
        noteKeyByte(key);
        privateLkey = key;
        privateRkey = first && !hasRemoteAccess() ? 0 : device.rkeyOf(key);
        setKeys(key, privateRkey);
    }

    /** A 5.x kernel's fast region has a public remote key that no lookup knows yet (rdma:RXE-9, RXE-19). */
    void showRkeyAsLkey() {
        setKeys(privateLkey, privateLkey);
    }

    void setState(int newState) {
        state = newState;
    }

    void setAccess(int newAccess) {
        access = newAccess;
    }

    void moveTo(Pd newPd) {
        setPd(newPd);
    }

    /** Under the lock of keys, as all that changes windows. */
    void changeWindows(int delta) {
        int before = numMw;
        numMw = before + delta;
    }

    /** REG_MR; says whether the key was seen before. */
    boolean register(int key, int newAccess) {
        boolean seen = noteKeyByte(key);
        access = newAccess;
        privateLkey = key;
        privateRkey = device.rkeyOf(key);
        setKeys(privateLkey, privateRkey);
        state = VALID;
        return seen;
    }

    private boolean noteKeyByte(int key) {
        return fast != null && fast.note(key);
    }

    // ---- references

    /** Takes a reference, unless the last one is gone (rdma:RXE-5). */
    boolean tryGet() {
        int seen = references;
        while (seen != 0 && !REFERENCES.compareAndSet(this, seen, seen + 1)) {
            seen = references;
        }
        return seen != 0;
    }

    @Override
    public void put() {
        REFERENCES.decrementAndGet(this);
    }

    /** Drops the first reference and waits for accesses that are under way; false when one does not end. */
    boolean drain() {
        REFERENCES.decrementAndGet(this);
        return Region.awaitUnused(() -> references);
    }

    // ---- pages

    /** Memory of a process: all its pages (rdma:RXE-15, RXE-21). */
    void fill(Umem umem) {
        setUmem(umem);
        SgTable table = umem.table();
        pages.reserve(umem.numPages());
        for (int i = 0; i < table.origNents(); i++) {
            long page = table.pageAddr(i);
            long end = page + table.lengthBytes(i);
            for (; page != end; page += PAGE) {
                pages.addPhysical(page);
            }
        }
    }

    PageList pages() {
        return pages;
    }

    void setFirstRange(long iova, long length, long offset) {
        firstIova = iova;
        firstLength = length;
        firstOffset = offset;
    }

    /** {@code map_mr_sg} (rdma:RXE-23 to RXE-27). */
    int mapSg(SgTable sg, int firstSegment, int nents, int sgOffset) {
        long pageBytes = Integer.toUnsignedLong(pageBytes());
        if (fast == null) {
            return -Errno.EINVAL;
        }
        pages.clear();
        regionPage = pageBytes;
        if (!growFor(pageBytes / PAGE * Integer.toUnsignedLong(fast.maxNumSg))) {
            return -Errno.ENOMEM;
        }
        SgToPages cutter = fast.cutter;
        PageSetter setter = fast.setter == null ? this::setPage : fast.setter;
        fast.setter = setter;
        int covered = cutter.map(sg, firstSegment, nents, Integer.toUnsignedLong(sgOffset), pageBytes, setter);
        setSgOffset(cutter.sgOffset());
        if (wasCut(sg, firstSegment, nents, sgOffset)) {
            setRange(cutter.iova(), cutter.lengthBytes());
            if (first) {
                setFirstRange(iova(), lengthBytes(), iova() & pageBytes - 1);
            }
        }
        return covered;
    }

    /** Large region pages need more entries than the region was made for (rdma:RXE-24). */
    private boolean growFor(long needed) {
        if (first || !Addresses.lessThan(pages.limit(), needed)) {
            return true;
        }
        if (device.pagesPoint().fails() || !device.hasRoomForPages(needed)) {
            return false;
        }
        pages.setLimit(needed);
        return true;
    }

    /** The cutter moves the region even when not a page could be set, but not when it refused its arguments. */
    private static boolean wasCut(SgTable sg, int firstSegment, int nents, int sgOffset) {
        return nents > 0 && !Addresses.lessThan(sg.dmaLengthBytes(firstSegment), Integer.toUnsignedLong(sgOffset));
    }

    private int setPage(long dmaAddr) {
        if (pages.isFull()) {
            return -Errno.ENOMEM;
        }
        if (first) {
            pages.addVirtual(dmaAddr, regionPage);
            return 0;
        }
        long end = dmaAddr + Math.max(regionPage, PAGE);
        for (long page = dmaAddr; page != end; page += PAGE) {
            if (pages.isFull()) {
                return -Errno.ENOMEM;
            }
            if ((access & AccessFlags.FLUSH_PERSISTENT) != 0 && !device.isPersistent(page)) {
                return -Errno.EINVAL;
            }
            pages.addVirtual(page, Math.min(regionPage, PAGE));
        }
        return 0;
    }

    // ---- addresses

    @Override
    public int checkRange(long iova, long lengthBytes) {
        if (type() == MrType.DMA) {
            return 0;
        }
        if (type() != MrType.USER && type() != MrType.MEM_REG) {
            return -Errno.EINVAL;
        }
        return first ? checkFirstRange(iova, lengthBytes) : checkOwnRange(iova, lengthBytes);
    }

    private int checkOwnRange(long iova, long length) {
        long start = iova();
        long whole = lengthBytes();
        boolean outside = Addresses.lessThan(iova, start)
                || Addresses.lessThan(whole, length)
                || Addresses.lessThan(whole - length, iova - start);
        return outside ? -Errno.EINVAL : 0;
    }

    /** With sums that can wrap (rdma:RXE-29). */
    private int checkFirstRange(long iova, long length) {
        boolean outside = Addresses.lessThan(iova, firstIova)
                || Addresses.lessThan(firstLength, length)
                || Addresses.lessThan(firstIova + firstLength - length, iova);
        return outside ? -Errno.EFAULT : 0;
    }

    /** The physical address of a byte; {@link PageList#HOLE} where there is no page. */
    private long physAddr(long iova) {
        if (type() == MrType.DMA) {
            return device.physOfVirtual(iova);
        }
        return first ? firstPhysAddr(iova) : ownPhysAddr(iova);
    }

    private long ownPhysAddr(long iova) {
        long small = Math.min(regionPage, PAGE);
        long pageIndex = regionPage > PAGE
                ? (iova - Addresses.alignDown(iova(), regionPage)) >>> Addresses.PAGE_SHIFT
                : (iova >>> shift(small)) - (iova() >>> shift(small));
        if (!Addresses.lessThan(pageIndex, pages.count())) {
            device.tooFar()
                    .warnOnce(() -> "page " + pageIndex + " of " + pages.count() + " in " + this + " (rdma:RXE-31)");
            return PageList.HOLE;
        }
        long entry = pages.entry(pageIndex);
        return entry == PageList.HOLE ? entry : entry + (iova & small - 1);
    }

    private static int shift(long powerOfTwo) {
        return Long.numberOfTrailingZeros(powerOfTwo);
    }

    private long firstPhysAddr(long iova) {
        long offset = iova - firstIova + firstOffset;
        long entry = pages.entry(offset >>> shift(regionPage));
        return entry == PageList.HOLE ? entry : entry + (offset & regionPage - 1);
    }

    /** How many bytes from an address on lie together. */
    private int together(long iova, long physAddr, int wanted) {
        long room = first && type() != MrType.DMA
                ? regionPage - (iova - firstIova + firstOffset & regionPage - 1)
                : PAGE - (physAddr & PAGE - 1);
        return (int) Math.min(wanted, room);
    }

    // ---- bytes

    @Override
    public int read(long iova, byte[] dst, int dstOffset, int length) {
        return copy(iova, dst, dstOffset, length, false);
    }

    @Override
    public int write(long iova, byte[] src, int srcOffset, int length) {
        return copy(iova, src, srcOffset, length, true);
    }

    /** {@code rxe_mr_copy} (rdma:RXE-32, RXE-33). */
    private int copy(long iova, byte[] bytes, int offset, int length, boolean toRegion) {
        if (length == 0) {
            return 0;
        }
        int error = checkRange(iova, length);
        if (error != 0) {
            return error;
        }
        CpuMemory memory = device.memory();
        long at = iova;
        int done = 0;
        while (done < length) {
            long physAddr = physAddr(at);
            if (physAddr == PageList.HOLE) {
                return -Errno.EFAULT;
            }
            int chunk = together(at, physAddr, length - done);
            if (toRegion) {
                memory.write(physAddr, bytes, offset + done, chunk);
            } else {
                memory.read(physAddr, bytes, offset + done, chunk);
            }
            done += chunk;
            at += chunk;
        }
        return 0;
    }

    // ---- atomics

    /** Where eight bytes lie, or minus one of the refusals of {@link Region} (rdma:RXE-36, RXE-37). */
    private long atomicPlace(long iova) {
        if (state != VALID || checkRange(iova, Long.BYTES) != 0) {
            return -ATOMIC_VIOLATION;
        }
        long physAddr = physAddr(iova);
        if (physAddr == PageList.HOLE) {
            return -ATOMIC_VIOLATION;
        }
        return (physAddr & Long.BYTES - 1) == 0 ? physAddr : -ATOMIC_MISALIGNED;
    }

    @Override
    public int fetchAdd(long iova, long addend, AtomicWord old) {
        long physAddr = atomicPlace(iova);
        if (physAddr < 0) {
            return (int) -physAddr;
        }
        old.set(device.memory().getAndAddLong(physAddr, addend));
        return ATOMIC_DONE;
    }

    @Override
    public int compareAndSwap(long iova, long expected, long replacement, AtomicWord old) {
        long physAddr = atomicPlace(iova);
        if (physAddr < 0) {
            return (int) -physAddr;
        }
        old.set(device.memory().compareAndExchangeLong(physAddr, expected, replacement));
        return ATOMIC_DONE;
    }

    /**
     * An atomic write of eight bytes (rdma:RXE-38).
     *
     * @param iova first byte
     * @param value what to store
     * @return {@link #ATOMIC_DONE}, {@link #ATOMIC_MISALIGNED} or {@link #ATOMIC_VIOLATION}
     */
    public int atomicWrite(long iova, long value) {
        long physAddr = atomicPlace(iova);
        if (physAddr < 0) {
            return (int) -physAddr;
        }
        device.memory().putLongRelease(physAddr, value);
        return ATOMIC_DONE;
    }

    /**
     * A flush to persistence (rdma:RXE-39). Written bytes are in memory at once here, so that only the checks are left.
     *
     * @param iova first byte
     * @param lengthBytes length, unsigned
     * @return 0; -EFAULT for a region of all memory or where there is no page; what the range gave
     */
    public int flushPersistent(long iova, long lengthBytes) {
        if (lengthBytes == 0) {
            return 0;
        }
        if (type() == MrType.DMA) {
            return -Errno.EFAULT;
        }
        int error = checkRange(iova, lengthBytes);
        long at = iova;
        long left = lengthBytes;
        while (error == 0 && left != 0) {
            long physAddr = physAddr(at);
            error = physAddr == PageList.HOLE ? -Errno.EFAULT : 0;
            int chunk = together(at, physAddr, (int) (Addresses.lessThan(left, PAGE) ? left : PAGE));
            at += chunk;
            left -= chunk;
        }
        return error;
    }
}
