package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.verbs.Pd;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What the adapter knows of a stag: whose it is, what it allows, and where its bytes are. An access walks from the
 * region's page to its page buffer list entry, read over the bus, and from there to the bytes, over the bus too.
 *
 * <p>Implements rdma:IRD-5 and IRD-7 as the adapter sees them. Changed by commands and work requests, one at a time;
 * read without a lock; accesses allocate nothing.
 */
final class StagEntry implements Region {
    /** The pages follow each other: their first address is in the entry (rdma:IRD-7). */
    static final int ADDRESS = 0;

    /** The entry has the index of a run of PBLEs. */
    static final int LEVEL_1 = 1;

    /** The entry has the index of a root, whose PBLEs have those of leaves. */
    static final int LEVEL_2 = 3;

    /** What the adapter knows of rights; local reads go always. */
    static final int RIGHTS = AccessFlags.LOCAL_WRITE
            | AccessFlags.REMOTE_WRITE
            | AccessFlags.REMOTE_READ
            | AccessFlags.MW_BIND
            | AccessFlags.ZERO_BASED;

    private static final int LEAF_SHIFT = 9;
    private static final int LEAF_MASK = PbleAllocation.LEAF_PBLES - 1;

    private final DeviceBus bus;
    private final PbleManager pbles;
    private final int hardwareIndex;
    private final boolean fast;
    private final AtomicInteger references = new AtomicInteger(1);
    private volatile Pd pd;
    private volatile boolean valid;
    private int key;
    private int access;
    private boolean allMemory;
    private long start;
    private long lengthBytes;
    private int pageShift = Addresses.PAGE_SHIFT;
    private long firstOffset;
    private int chunkSize;
    private int listIndex;
    private long firstAddr;

    private StagEntry(DeviceBus bus, PbleManager pbles, Pd pd, int stag, boolean fast) {
        this.bus = bus;
        this.pbles = pbles;
        this.pd = pd;
        hardwareIndex = StagTable.hardwareIndex(stag);
        key = StagTable.key(stag);
        this.fast = fast;
    }

    /** A stag for fast registration, which waits for it. */
    static StagEntry fast(DeviceBus bus, PbleManager pbles, Pd pd, int stag) {
        return new StagEntry(bus, pbles, pd, stag, true);
    }

    /** A window, bound to nothing. */
    static StagEntry window(DeviceBus bus, PbleManager pbles, Pd pd, int stag) {
        return new StagEntry(bus, pbles, pd, stag, false);
    }

    /** A registered region, to be described and then published. */
    static StagEntry region(DeviceBus bus, PbleManager pbles, Pd pd, int stag) {
        return new StagEntry(bus, pbles, pd, stag, false);
    }

    // ---- what commands and work requests say

    /** All memory, by DMA address. */
    void coverAll(int newAccess) {
        allMemory = true;
        access = newAccess & RIGHTS;
        valid = true;
    }

    /** A range of addresses, of pages that {@link #listed} or {@link #at} says. */
    void cover(long iova, long length, int shift, int newAccess) {
        access = newAccess & RIGHTS;
        pageShift = shift;
        firstOffset = iova & (1L << shift) - 1;
        start = (newAccess & AccessFlags.ZERO_BASED) != 0 ? 0 : iova;
        lengthBytes = length;
    }

    void listed(int newChunkSize, int newListIndex) {
        chunkSize = newChunkSize;
        listIndex = newListIndex;
        valid = true;
    }

    void at(long newFirstAddr) {
        chunkSize = ADDRESS;
        firstAddr = newFirstAddr;
        valid = true;
    }

    void rekey(int newKey) {
        key = newKey & 0xff;
    }

    void invalidate() {
        valid = false;
    }

    // ---- what lookups ask

    boolean isFast() {
        return fast;
    }

    boolean isValid() {
        return valid;
    }

    Pd pd() {
        return pd;
    }

    /** Whether a stag is this one's: index, the driver's bits and key. */
    boolean isNamedBy(int stag) {
        return isIndexOf(stag) && StagTable.key(stag) == key;
    }

    boolean isIndexOf(int stag) {
        return StagTable.hardwareIndex(stag) == hardwareIndex;
    }

    boolean allows(int asked) {
        return (asked & access) == asked;
    }

    boolean tryGet() {
        int seen = references.get();
        while (seen != 0) {
            int found = references.compareAndExchange(seen, seen + 1);
            if (found == seen) {
                return true;
            }
            seen = found;
        }
        return false;
    }

    @Override
    public void put() {
        references.decrementAndGet();
    }

    /** Ends it: waits for accesses that are under way; false when one does not end. */
    boolean drain() {
        valid = false;
        references.decrementAndGet();
        return Region.awaitUnused(references::get);
    }

    // ---- bytes

    @Override
    public int checkRange(long iova, long length) {
        if (allMemory) {
            return 0;
        }
        boolean outside = Addresses.lessThan(iova, start)
                || Addresses.lessThan(lengthBytes, length)
                || Addresses.lessThan(lengthBytes - length, iova - start);
        return outside ? -Errno.EINVAL : 0;
    }

    @Override
    public int read(long iova, byte[] dst, int dstOffset, int length) {
        return copy(iova, dst, dstOffset, length, false);
    }

    @Override
    public int write(long iova, byte[] src, int srcOffset, int length) {
        return copy(iova, src, srcOffset, length, true);
    }

    private int copy(long iova, byte[] bytes, int offset, int length, boolean toMemory) {
        int error = checkRange(iova, length);
        int done = 0;
        while (error == 0 && done < length) {
            int chunk = together(iova + done, length - done);
            long dmaAddr = dmaAddr(iova + done);
            int moved = toMemory
                    ? bus.write(dmaAddr, bytes, offset + done, chunk)
                    : bus.read(dmaAddr, bytes, offset + done, chunk);
            error = moved == chunk ? 0 : -Errno.EFAULT;
            done += chunk;
        }
        return error;
    }

    /** How many bytes lie in the page of an address. */
    private int together(long iova, int wanted) {
        if (allMemory) {
            return wanted;
        }
        long pageBytes = 1L << pageShift;
        long inPage = (iova - start + firstOffset) & pageBytes - 1;
        return (int) Math.min(wanted, pageBytes - inPage);
    }

    /** From an address of the region's to one on the bus; all ones where a list has no backing. */
    private long dmaAddr(long iova) {
        if (allMemory) {
            return iova;
        }
        long fromFirstPage = iova - start + firstOffset;
        if (chunkSize == ADDRESS) {
            return firstAddr + fromFirstPage;
        }
        int page = (int) (fromFirstPage >>> pageShift);
        long inPage = fromFirstPage & (1L << pageShift) - 1;
        long pageAddr = chunkSize == LEVEL_1 ? pble(listIndex + page) : pble(leaf(page) + (page & LEAF_MASK));
        return (pageAddr & -(1L << pageShift)) + inPage;
    }

    private int leaf(int page) {
        return (int) pble(listIndex + (page >>> LEAF_SHIFT));
    }

    /** Reads a PBLE as the adapter does: over its bus, from the memory that backs its own addresses. */
    private long pble(int index) {
        long dmaAddr = pbles.dmaAddrOrNowhere(index);
        return dmaAddr == HmcMemory.NOWHERE ? HmcMemory.NOWHERE : bus.readLong(dmaAddr);
    }

    /** There are no atomics. */
    @Override
    public int fetchAdd(long iova, long addend, AtomicWord old) {
        return ATOMIC_VIOLATION;
    }

    /** There are no atomics. */
    @Override
    public int compareAndSwap(long iova, long expected, long replacement, AtomicWord old) {
        return ATOMIC_VIOLATION;
    }
}
