package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.PageSetter;
import io.pagewalk.rdma.SgToPages;
import io.pagewalk.rdma.umem.Umem;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Pd;

/**
 * A region of i40iw or irdma, as its driver keeps it: a stag, and a list of page buffers or the one page that needs
 * none.
 *
 * <p>Implements rdma:IRD-4. Mapping is for one thread at a time, as in the kernel.
 */
public final class I40iwMr extends Mr {
    private final int stag;
    private final PbleManager pbles;
    private final PbleAllocation list;
    private final SgToPages cutter = new SgToPages();
    private final PageSetter setter = this::setPage;
    private final int pageLimit;
    private int pages;
    private int access;
    private long pageSize = Addresses.PAGE_SIZE;
    private long firstAddr;
    private boolean registered;

    I40iwMr(Pd pd, MrType type, int stag, PbleManager pbles, int pageLimit) {
        this(pd, type, stag, pbles, pageLimit, new PbleAllocation());
    }

    /** A region of a process, which takes over page buffers. */
    I40iwMr(Pd pd, int stag, PbleManager pbles, PbleAllocation list) {
        this(pd, MrType.USER, stag, pbles, 0, list);
    }

    private I40iwMr(Pd pd, MrType type, int stag, PbleManager pbles, int pageLimit, PbleAllocation list) {
        super(pd, type);
        this.stag = stag;
        this.pbles = pbles;
        this.pageLimit = pageLimit;
        this.list = list;
        setKeys(stag, stag);
        setPageBytes(DEFAULT_PAGE_BYTES);
    }

    /**
     * The stag that it was made with; the key in its low byte changes with each fast registration.
     *
     * @return 32 bits
     */
    public int stag() {
        return stag;
    }

    /**
     * Its page buffers.
     *
     * @return of level 0 when it has none
     */
    public PbleAllocation list() {
        return list;
    }

    /**
     * How many pages the latest mapping set.
     *
     * @return {@code npages}
     */
    public int pages() {
        return pages;
    }

    /**
     * The page size that a registration of a process's memory has.
     *
     * @return 4 KiB, 2 MiB or 1 GiB
     */
    public long pageSize() {
        return pageSize;
    }

    /**
     * The address on the bus of the first page of a region without page buffers.
     *
     * @return the address
     */
    public long firstAddr() {
        return firstAddr;
    }

    int access() {
        return access;
    }

    void setAccess(int newAccess) {
        access = newAccess;
    }

    boolean isRegistered() {
        return registered;
    }

    void setRegistered(boolean yes) {
        registered = yes;
    }

    void moveTo(Pd newPd) {
        setPd(newPd);
    }

    void hold(Umem umem, long newPageSize, long newFirstAddr) {
        setUmem(umem);
        pageSize = newPageSize;
        firstAddr = newFirstAddr;
    }

    /** {@code map_mr_sg}. */
    int map(SgTable sg, int first, int nents, int sgOffset) {
        pages = 0;
        long offset = Integer.toUnsignedLong(sgOffset);
        int covered = cutter.map(sg, first, nents, offset, Integer.toUnsignedLong(pageBytes()), setter);
        setSgOffset(cutter.sgOffset());
        if (nents > 0 && !Addresses.lessThan(sg.dmaLengthBytes(first), offset)) {
            setRange(cutter.iova(), cutter.lengthBytes());
        }
        return covered;
    }

    private int setPage(long pageDmaAddr) {
        if (pages == pageLimit || pbles.isClosed()) {
            return -Errno.ENOMEM;
        }
        pbles.set(list, pages, pageDmaAddr);
        pages++;
        return 0;
    }
}
