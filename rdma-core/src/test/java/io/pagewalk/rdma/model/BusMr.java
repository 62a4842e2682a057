package io.pagewalk.rdma.model;

import io.pagewalk.dma.BusWord;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.SgToPages;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.umem.BlockIterator;
import io.pagewalk.rdma.umem.Umem;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.Pd;

/** A region of {@link BusProvider}: DMA addresses of pages, which are reached through the device's bus. */
final class BusMr extends Mr implements Region {
    private final DeviceBus bus;
    private final long[] pages;
    private int count;
    private int shift = 12;
    int privateLkey;
    int privateRkey;
    int access;
    boolean valid;
    int windows;

    BusMr(Pd pd, MrType type, DeviceBus bus, int maxPages, int lkey, int rkey) {
        super(pd, type);
        this.bus = bus;
        pages = new long[maxPages];
        setKeys(lkey, rkey);
        setPageBytes(DEFAULT_PAGE_BYTES);
        privateLkey = lkey;
        privateRkey = rkey;
    }

    /** Takes over a registration. */
    void hold(Umem umem) {
        setUmem(umem);
        BlockIterator blocks = new BlockIterator().start(umem, Addresses.PAGE_SIZE);
        while (blocks.next()) {
            pages[count++] = blocks.dmaAddr();
        }
    }

    int map(SgTable sg, int first, int nents, int sgOffset) {
        count = 0;
        shift = Integer.numberOfTrailingZeros(pageBytes());
        SgToPages cutter = new SgToPages();
        int covered = cutter.map(sg, first, nents, sgOffset, pageBytes(), page -> {
            if (count == pages.length) {
                return -Errno.ENOMEM;
            }
            pages[count++] = page;
            return 0;
        });
        setRange(cutter.iova(), cutter.lengthBytes());
        setSgOffset(cutter.sgOffset());
        return covered;
    }

    /** The low byte of a key becomes that of both keys. */
    void use(int key, int newAccess) {
        privateLkey = (privateLkey & ~0xff) | (key & 0xff);
        privateRkey = (privateRkey & ~0xff) | (key & 0xff);
        access = newAccess;
        valid = true;
    }

    @Override
    public int checkRange(long iova, long lengthBytes) {
        boolean inside = !Addresses.lessThan(iova, iova())
                && !Addresses.lessThan(lengthBytes(), lengthBytes)
                && !Addresses.lessThan(lengthBytes() - lengthBytes, iova - iova());
        return inside ? 0 : -Errno.EINVAL;
    }

    private long dmaAddr(long iova) {
        int page = (int) ((iova >>> shift) - (iova() >>> shift));
        return pages[page] + (iova & (pageBytes() - 1));
    }

    private int span(long iova, int length) {
        return (int) Math.min(length, pageBytes() - (iova & (pageBytes() - 1)));
    }

    @Override
    public int read(long iova, byte[] dst, int dstOffset, int length) {
        int error = checkRange(iova, length);
        for (int done = 0, part; error == 0 && done < length; done += part) {
            part = span(iova + done, length - done);
            error = bus.read(dmaAddr(iova + done), dst, dstOffset + done, part) == part ? 0 : -Errno.EFAULT;
        }
        return error;
    }

    @Override
    public int write(long iova, byte[] src, int srcOffset, int length) {
        int error = checkRange(iova, length);
        for (int done = 0, part; error == 0 && done < length; done += part) {
            part = span(iova + done, length - done);
            error = bus.write(dmaAddr(iova + done), src, srcOffset + done, part) == part ? 0 : -Errno.EFAULT;
        }
        return error;
    }

    private int refusal(long iova) {
        if (!valid || checkRange(iova, Long.BYTES) != 0) {
            return ATOMIC_VIOLATION;
        }
        return (iova & 7) == 0 ? ATOMIC_DONE : ATOMIC_MISALIGNED;
    }

    @Override
    public int fetchAdd(long iova, long addend, AtomicWord old) {
        int refusal = refusal(iova);
        if (refusal != ATOMIC_DONE) {
            return refusal;
        }
        BusWord word = new BusWord();
        return found(bus.fetchAdd(dmaAddr(iova), addend, word), word, old);
    }

    @Override
    public int compareAndSwap(long iova, long expected, long replacement, AtomicWord old) {
        int refusal = refusal(iova);
        if (refusal != ATOMIC_DONE) {
            return refusal;
        }
        BusWord word = new BusWord();
        return found(bus.compareAndSwap(dmaAddr(iova), expected, replacement, word), word, old);
    }

    private static int found(int done, BusWord word, AtomicWord old) {
        old.set(word.value());
        return done == Long.BYTES ? ATOMIC_DONE : ATOMIC_VIOLATION;
    }

    /** Regions live as long as their test. */
    @Override
    public void put() {}
}
