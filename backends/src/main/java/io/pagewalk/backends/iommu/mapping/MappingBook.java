package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.LiveMapping;
import io.pagewalk.backends.iommu.range.RangeNodes;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Who mapped what in a domain: disjoint ranges by device address. The tables say what is mapped; the book only says by
 * whom. Thread-safe. Allocates only when it grows, and for its answers.
 */
final class MappingBook {
    private static final int INITIAL_CAPACITY = 64;

    private final RangeNodes ranges = new RangeNodes();
    private long[] physAddrs = new long[INITIAL_CAPACITY];
    private int[] prots = new int[INITIAL_CAPACITY];
    private String[] owners = new String[INITIAL_CAPACITY];

    /**
     * Enters a mapping where nothing is entered yet.
     *
     * @return false when a part of the range is entered already, and then nothing changes
     */
    synchronized boolean addIfFree(long iova, long sizeBytes, long physAddr, int prot, String owner) {
        long last = Addresses.last(iova, sizeBytes);
        int above = ranges.lowestReaching(iova);
        if (isMet(above, last)) {
            return false;
        }
        insert(above, iova, last, physAddr, prot, owner);
        return true;
    }

    /** Enters a mapping; what it covers of others is theirs no more. */
    synchronized void add(long iova, long sizeBytes, long physAddr, int prot, String owner) {
        long last = Addresses.last(iova, sizeBytes);
        insert(erase(iova, last), iova, last, physAddr, prot, owner);
    }

    /** Forgets a range; mappings that reach beyond it keep their ends. */
    synchronized void remove(long first, long last) {
        erase(first, last);
    }

    /** Erases a range and gives the mapping above it. */
    private int erase(long first, long last) {
        int range = ranges.lowestReaching(first);
        while (isMet(range, last)) {
            range = cut(range, first, last);
        }
        return range;
    }

    /** Whether a mapping that does not end below a stretch begins in it or below. */
    private boolean isMet(int range, long last) {
        return range != RangeNodes.ANCHOR && Addresses.lessOrEqual(ranges.lo(range), last);
    }

    /** Takes a stretch out of a mapping that has a part of it, and gives the next mapping above. */
    private int cut(int range, long first, long last) {
        int above = ranges.next(range);
        boolean startsBelow = Addresses.lessThan(ranges.lo(range), first);
        if (Addresses.lessThan(last, ranges.hi(range))) {
            return startsBelow ? split(range, first, last) : cutHead(range, last);
        }
        if (startsBelow) {
            ranges.setHi(range, first - 1);
        } else {
            ranges.remove(range);
            owners[range] = "";
        }
        return above;
    }

    private int split(int range, long first, long last) {
        long physAddr = physAddrs[range] + (last + 1 - ranges.lo(range));
        int tail = insert(ranges.next(range), last + 1, ranges.hi(range), physAddr, prots[range], owners[range]);
        ranges.setHi(range, first - 1);
        return tail;
    }

    private int cutHead(int range, long last) {
        physAddrs[range] += last + 1 - ranges.lo(range);
        ranges.setLo(range, last + 1);
        return range;
    }

    private int insert(int above, long first, long last, long physAddr, int prot, String owner) {
        int range = ranges.insertBelow(above, first, last);
        if (range >= physAddrs.length) {
            grow();
        }
        physAddrs[range] = physAddr;
        prots[range] = prot;
        owners[range] = owner;
        return range;
    }

    private void grow() {
        physAddrs = Arrays.copyOf(physAddrs, 2 * physAddrs.length);
        prots = Arrays.copyOf(prots, 2 * prots.length);
        owners = Arrays.copyOf(owners, 2 * owners.length);
    }

    /** The mapping of an address, or null. */
    synchronized @Nullable LiveMapping at(long iova) {
        int range = ranges.find(iova);
        return range == RangeNodes.NIL || range == RangeNodes.ANCHOR ? null : mapping(range);
    }

    synchronized List<LiveMapping> all() {
        List<LiveMapping> all = new ArrayList<>();
        for (int range = ranges.first(); range != RangeNodes.ANCHOR; range = ranges.next(range)) {
            all.add(mapping(range));
        }
        return all;
    }

    private LiveMapping mapping(int range) {
        long first = ranges.lo(range);
        return new LiveMapping(first, ranges.hi(range) - first + 1, physAddrs[range], prots[range], owners[range]);
    }
}
