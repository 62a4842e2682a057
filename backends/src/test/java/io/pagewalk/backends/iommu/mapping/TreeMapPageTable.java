package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.pgtable.LeafVisitor;
import io.pagewalk.backends.iommu.pgtable.PageTable;
import io.pagewalk.backends.iommu.pgtable.TablePageList;
import io.pagewalk.dma.Errno;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** A page table without pages: leaves in a sorted map. Behaves as VT-d where the mapping layer can tell. */
final class TreeMapPageTable implements PageTable {
    static final long SIZES_4K_2M_1G = 1L << 12 | 1L << 21 | 1L << 30;

    /** One leaf. */
    record Leaf(long physAddr, long sizeBytes, int prot) {}

    private final TreeMap<Long, Leaf> leaves = new TreeMap<>(Long::compareUnsigned);
    private long pageSizes;
    private final long apertureEnd;
    private long nextTablePage = 0x1000;
    private int pagesUntilFailure = Integer.MAX_VALUE;
    private int callsUntilFailure = Integer.MAX_VALUE;
    private int callsToFail;
    private boolean freesTables;

    TreeMapPageTable(long pageSizes, long apertureEnd) {
        this.pageSizes = pageSizes;
        this.apertureEnd = apertureEnd;
    }

    /** The call after this many leaves fails with -ENOMEM, once. */
    synchronized void failAfter(int leafCount) {
        pagesUntilFailure = leafCount;
    }

    /** The call after this many calls fails with -ENOMEM before it writes anything, once. */
    synchronized void failAfterCalls(int callCount) {
        callsUntilFailure = callCount;
    }

    /** One more of the next calls fails with -ENOMEM before it writes anything. */
    synchronized void failNextCall() {
        callsToFail++;
    }

    /** Offers other page sizes. */
    synchronized void offer(long sizes) {
        pageSizes = sizes;
    }

    /** From now on each unmap unlinks a table page. */
    void freeTables() {
        freesTables = true;
    }

    /** The leaf that begins at an address. */
    synchronized Leaf leaf(long iova) {
        return Objects.requireNonNull(leaves.get(iova), "no leaf");
    }

    synchronized Map<Long, Leaf> leaves() {
        return new TreeMap<>(leaves);
    }

    @Override
    public long pageSizes() {
        return pageSizes;
    }

    @Override
    public long apertureEnd() {
        return apertureEnd;
    }

    @Override
    public synchronized int mapPages(long iova, long physAddr, long pageSizeBytes, long pageCount, int prot) {
        if ((pageSizes & pageSizeBytes) == 0 || ((iova | physAddr) & (pageSizeBytes - 1)) != 0) {
            return -Errno.EINVAL;
        }
        if (Long.compareUnsigned(iova + pageSizeBytes * pageCount - 1, apertureEnd) > 0) {
            return -Errno.EFAULT;
        }
        if (callsToFail > 0) {
            callsToFail--;
            return -Errno.ENOMEM;
        }
        if (callsUntilFailure-- == 0) {
            return -Errno.ENOMEM;
        }
        for (long i = 0; i < pageCount; i++) {
            if (pagesUntilFailure-- == 0) {
                return -Errno.ENOMEM;
            }
            leaves.putIfAbsent(iova + i * pageSizeBytes, new Leaf(physAddr + i * pageSizeBytes, pageSizeBytes, prot));
        }
        return 0;
    }

    @Override
    public synchronized long unmapPages(long iova, long sizeBytes, TablePageList freed) {
        Map.Entry<Long, Leaf> first = leaves.floorEntry(iova);
        long size = first != null && first.getKey() == iova
                ? Math.max(sizeBytes, first.getValue().sizeBytes())
                : sizeBytes;
        leaves.subMap(iova, true, iova + size - 1, true).clear();
        if (freesTables) {
            freed.add(nextTablePage);
            nextTablePage += 0x1000;
        }
        return size;
    }

    @Override
    public synchronized long iovaToPhys(long iova) {
        Map.Entry<Long, Leaf> entry = leaves.floorEntry(iova);
        if (entry == null
                || Long.compareUnsigned(iova - entry.getKey(), entry.getValue().sizeBytes()) >= 0) {
            return 0;
        }
        return entry.getValue().physAddr() + (iova - entry.getKey());
    }

    @Override
    public synchronized void forEachLeaf(long firstIova, long lastIova, LeafVisitor visitor) {
        leaves.forEach((iova, leaf) -> {
            if (Long.compareUnsigned(iova, lastIova) <= 0
                    && Long.compareUnsigned(iova + leaf.sizeBytes() - 1, firstIova) >= 0) {
                visitor.leaf(iova, leaf.physAddr(), leaf.sizeBytes(), leaf.prot() & 3);
            }
        });
    }

    @Override
    public long rootPhysAddr() {
        return 0;
    }

    @Override
    public int levels() {
        return 3;
    }

    @Override
    public long tablePages() {
        return 1;
    }
}
