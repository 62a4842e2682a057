package io.pagewalk.backends.iommu.iova;

import io.pagewalk.backends.lock.SpinLock;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The device addresses of one IOMMU domain: the tree of ranges, and the caches of small ones in front of it. Units are
 * page frame numbers of the granule; all are unsigned.
 *
 * <p>Implements iommu:IOVA-18 to IOVA-29, RC-1 to RC-19. Thread-safe; the caches of one CPU are locked apart from those
 * of others. Allocates nothing in a steady state.
 */
public final class IovaDomain {
    /** What {@link #alloc} returns when there is no range: the pfn of the anchor, which nobody gets. */
    public static final long NO_PFN = -1L;
    /** Largest size in granules that is cached (iommu:RC-1). */
    public static final int CACHED_GRANULES = 32;

    private static final int ORDERS = 6;
    private static final String SITE = "iova";

    private final Machine machine;
    private final int shift;
    private final IovaTree tree;
    private final IovaRcache[] caches;
    private final SpinLock treeLock = new SpinLock();

    /**
     * Makes a domain in which nothing is taken.
     *
     * @param machine gives clock, log, failure points and the number of CPUs
     * @param granuleBytes bytes of a pfn, a power of two and at most a page
     * @param startPfn the lowest pfn ever handed out
     * @param cached whether there are caches; without them each request goes to the tree
     */
    public IovaDomain(Machine machine, long granuleBytes, long startPfn, boolean cached) {
        this(machine, granuleBytes, startPfn, cached, IovaMagazine.CAPACITY);
    }

    /** With magazines of another size, for small worlds. */
    IovaDomain(Machine machine, long granuleBytes, long startPfn, boolean cached, int magazineEntries) {
        this.machine = machine;
        this.shift = Long.numberOfTrailingZeros(granuleBytes);
        this.tree = new IovaTree(granuleBytes, startPfn);
        this.caches = new IovaRcache[cached ? ORDERS : 0];
        for (int order = 0; order < caches.length; order++) {
            caches[order] = new IovaRcache(
                    machine.cpus(),
                    magazineEntries,
                    machine.clock(),
                    machine.failures().point("iommu.magazine"),
                    this::releaseCached);
        }
    }

    /**
     * Bytes of a granule as a shift.
     *
     * @return log2 of the granule
     */
    public int shift() {
        return shift;
    }

    /**
     * Takes a range, small ones out of the CPU's cache (iommu:IOVA-24 to IOVA-27).
     *
     * @param cpu the CPU that asks
     * @param size granules, at least 1
     * @param limitPfn highest pfn allowed
     * @param flush whether to return every CPU's cached ranges to the tree and try again before giving up
     * @return the first pfn, 0 when there is none
     */
    public long allocFast(int cpu, long size, long limitPfn, boolean flush) {
        long rounded = Addresses.lessThan(size, CACHED_GRANULES) ? roundUpToPowerOfTwo(size) : size;
        int order = order(rounded);
        if (order < caches.length) {
            long pfn = caches[order].get(cpu, limitPfn + 1 - rounded);
            if (pfn != 0) {
                return pfn;
            }
        }
        long lo = alloc(rounded, limitPfn, true);
        if (lo == NO_PFN && flush) {
            releaseCaches();
            lo = alloc(rounded, limitPfn, true);
        }
        return lo == NO_PFN ? 0 : lo;
    }

    private static long roundUpToPowerOfTwo(long size) {
        return 1L << order(size);
    }

    private static int order(long size) {
        return size == 0 ? 0 : Long.SIZE - Long.numberOfLeadingZeros(size - 1);
    }

    /**
     * Gives a range back, small ones to the CPU's cache (iommu:IOVA-28).
     *
     * @param cpu the CPU that gives
     * @param pfn the first pfn
     * @param size granules as asked for; another size puts the range into a wrong class, unnoticed (iommu:DMAP-9)
     */
    public void freeFast(int cpu, long pfn, long size) {
        int order = order(size);
        if (order >= caches.length || !caches[order].insert(cpu, pfn)) {
            free(pfn);
        }
    }

    /**
     * Takes a range out of the tree (iommu:IOVA-8).
     *
     * @param size granules, at least 1
     * @param limitPfn highest pfn allowed
     * @param sizeAligned whether the first pfn is aligned to the size rounded up to a power of two
     * @return the first pfn, or {@link #NO_PFN}
     */
    public long alloc(long size, long limitPfn, boolean sizeAligned) {
        treeLock.lock();
        try {
            int range = tree.alloc(size, limitPfn, sizeAligned);
            return range == IovaTree.NONE ? NO_PFN : tree.lo(range);
        } finally {
            treeLock.unlock();
        }
    }

    /**
     * Gives the range around a pfn back to the tree; does nothing when there is none (iommu:IOVA-18).
     *
     * @param pfn any pfn of the range
     */
    public void free(long pfn) {
        treeLock.lock();
        try {
            tree.free(pfn);
        } finally {
            treeLock.unlock();
        }
    }

    /**
     * Takes a given range (iommu:IOVA-20 to IOVA-22).
     *
     * @param loPfn first pfn
     * @param hiPfn last pfn
     * @return false, with a WARN, when an address would need more than 64 bits
     */
    public boolean reserve(long loPfn, long hiPfn) {
        treeLock.lock();
        int range;
        try {
            range = tree.reserve(loPfn, hiPfn);
        } finally {
            treeLock.unlock();
        }
        if (range == IovaTree.NONE) {
            machine.log()
                    .warn(
                            SITE,
                            "reserve " + Addresses.hex(loPfn) + " to " + Addresses.hex(hiPfn)
                                    + ": more than 64 bits of address at a shift of " + shift + " (iommu:IOVA-20)");
        }
        return range != IovaTree.NONE;
    }

    /** Gives every CPU's cached ranges, then the depots', back to the tree (iommu:IOVA-27, RC-15, RC-16). */
    public void releaseCaches() {
        for (int cpu = 0; cpu < machine.cpus(); cpu++) {
            for (IovaRcache cache : caches) {
                cache.releaseCpu(cpu);
            }
        }
        for (IovaRcache cache : caches) {
            cache.releaseDepot();
        }
    }

    /** RC-17. */
    private void releaseCached(long pfn) {
        treeLock.lock();
        boolean known;
        try {
            int range = tree.find(pfn);
            known = range != IovaTree.NONE;
            if (known) {
                tree.remove(range);
            }
        } finally {
            treeLock.unlock();
        }
        if (!known) {
            machine.log().warn(SITE, "cached pfn " + Addresses.hex(pfn) + " is in no range (iommu:RC-17)");
        }
    }

    /**
     * The tree, for checks and tests; no other call may be running.
     *
     * @return the ranges
     */
    public IovaTree tree() {
        return tree;
    }

    /**
     * The first pfns of all cached ranges; no other call may be running.
     *
     * @return a new set
     */
    public Set<Long> cachedPfns() {
        Set<Long> pfns = new HashSet<>();
        for (IovaRcache cache : caches) {
            cache.forEach(pfns::add);
        }
        return pfns;
    }

    /**
     * Checks that the tree is ordered and disjoint, and that the caches hold taken ranges only, each once. No other
     * call may be running.
     *
     * @param name what to call the domain
     * @param violation takes a sentence for each broken invariant
     */
    public void checkStructure(String name, Consumer<String> violation) {
        checkOrder(name, violation);
        Set<Long> seen = new HashSet<>();
        for (IovaRcache cache : caches) {
            cache.forEach(pfn -> checkCached(name, pfn, seen, violation));
        }
    }

    private void checkOrder(String name, Consumer<String> violation) {
        if (!tree.nodes().isConsistent()) {
            violation.accept(name + ": the IOVA tree and its order disagree");
        }
        for (int range = tree.first(); range != IovaTree.ANCHOR; range = tree.next(range)) {
            if (Addresses.lessThan(tree.hi(range), tree.lo(range))
                    || !Addresses.lessThan(tree.hi(range), tree.lo(tree.next(range)))) {
                violation.accept(
                        name + ": IOVA range " + Addresses.hex(tree.lo(range)) + " to " + Addresses.hex(tree.hi(range))
                                + " overlaps the next one, from " + Addresses.hex(tree.lo(tree.next(range))));
            }
        }
    }

    private void checkCached(String name, long pfn, Set<Long> seen, Consumer<String> violation) {
        int range = tree.find(pfn);
        if (range == IovaTree.NONE || tree.lo(range) != pfn) {
            violation.accept(name + ": cached pfn " + Addresses.hex(pfn) + " starts no taken range");
        }
        if (!seen.add(pfn)) {
            violation.accept(name + ": pfn " + Addresses.hex(pfn) + " is cached twice");
        }
    }

    /** Stops the trim work (iommu:RC-19, IOVA-23). */
    public void close() {
        for (IovaRcache cache : caches) {
            cache.close();
        }
    }

    IovaRcache cache(int order) {
        return caches[order];
    }
}
