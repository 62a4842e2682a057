package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.backends.iommu.pgtable.VtdPteLayout;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.spi.BusPort;

/**
 * The hardware's walk of second-stage tables. Implements iommu:VTD-9, iommu:FLT-5 and iommu:FLT-7.
 *
 * <p>A walk answers a translation, which packs the address of the page, whatever its size, with its level (bits 3:2)
 * and the permissions of the whole way (bit 0 read, bit 1 write), or a fault of {@link BusPort#fault}. On the way, a
 * table is its address with the permissions so far. Thread-safe; allocates nothing.
 */
final class SecondStageWalk {
    private static final long LOW_BITS = 0xfff;
    private static final int LEVEL_SHIFT = 2;

    /** Beside a fault: nothing is mapped there at all. Above the bits of its code. */
    private static final long ABSENT = 1 << 16;

    /** A translation to nowhere. */
    private static final long NOWHERE = 1 << LEVEL_SHIFT;

    private final TableMemory tables;
    private final PagingCache cache;
    private final long reserved;
    private final long reservedInLeaves;
    private final int largeLevels;

    SecondStageWalk(TableMemory tables, VtdFeatures features, PagingCache cache) {
        this.tables = tables;
        this.cache = cache;
        this.reserved = VtdPteLayout.HARDWARE_ADDRESS & (-1L << features.hostBits());
        this.reservedInLeaves = features.snoopControl() ? reserved : reserved | VtdPteLayout.SNOOP;
        this.largeLevels = features.largeLevels();
    }

    /**
     * Walks, from the deepest table that the paging-structure caches know the way to.
     *
     * @param domainId whose entries are cached
     * @param root the table of the highest level
     * @param levels how many levels there are
     * @param iova an address within their width
     * @param access what must be allowed
     * @return a translation or a fault
     */
    long walk(int domainId, long root, int levels, long iova, Access access) {
        if (!cache.isUsable()) {
            return walkFromRoot(root, levels, iova, access);
        }
        long needed = needed(access);
        int top = Math.min(levels, PagingCache.HIGHEST_LEVEL);
        for (int level = 2; level <= top; level++) {
            long held = cache.lookup(domainId, iova, level);
            if ((held & needed) == needed) {
                return walkAndFill(domainId, held, level - 1, iova, access);
            }
        }
        return walkAndFill(domainId, root | VtdPteLayout.PERMISSIONS, levels, iova, access);
    }

    /** The tables as they stand, whatever is cached. */
    long walkFromRoot(long root, int levels, long iova, Access access) {
        long table = root | VtdPteLayout.PERMISSIONS;
        for (int level = levels; ; level--) {
            table = step(table, level, iova, access);
            if (BusPort.isFault(table) || isLeaf(table)) {
                return table;
            }
        }
    }

    private long walkAndFill(int domainId, long from, int fromLevel, long iova, Access access) {
        long table = from;
        for (int level = fromLevel; ; level--) {
            table = step(table, level, iova, access);
            if (BusPort.isFault(table) || isLeaf(table)) {
                return table;
            }
            if (level <= PagingCache.HIGHEST_LEVEL) {
                cache.fill(domainId, iova, level, table);
            }
        }
    }

    /**
     * Reads one entry: from a table, with the permissions of the way to it, to the next one, or to a translation, or to
     * a fault.
     */
    private long step(long table, int level, long iova, Access access) {
        long needed = needed(access);
        long slot = VtdPteLayout.slot(table & ~LOW_BITS, iova >>> 12, level);
        if (!tables.isReachable(slot)) {
            return BusPort.fault(VtdFaultReason.TABLE_UNREACHABLE);
        }
        long entry = tables.entry(slot);
        long permissions = table & entry & VtdPteLayout.PERMISSIONS;
        if ((permissions & needed) != needed) {
            return denied(permissions, access);
        }
        boolean leaf = level == 1 || VtdPteLayout.isLarge(entry);
        if ((entry & reservedAt(level, leaf)) != 0) {
            return BusPort.fault(VtdFaultReason.PAGING_RESERVED);
        }
        long next = (entry & VtdPteLayout.HARDWARE_ADDRESS) | permissions;
        return leaf ? next | (long) level << LEVEL_SHIFT : next;
    }

    /** Translations have a level, pointers to tables have none. */
    private static boolean isLeaf(long result) {
        return level(result) != 0;
    }

    private static long denied(long permissions, Access access) {
        boolean noWrite = access.writes() && (permissions & VtdPteLayout.WRITE) == 0;
        long fault = BusPort.fault(noWrite ? VtdFaultReason.NO_WRITE : VtdFaultReason.NO_READ);
        return permissions == 0 ? fault | ABSENT : fault;
    }

    private long reservedAt(int level, boolean leaf) {
        if (!leaf) {
            return reserved;
        }
        return level == 1 ? reservedInLeaves : reservedInLarge(level);
    }

    private long reservedInLarge(int level) {
        long lowAddressBits = (pageBytes(level) - 1) & ~LOW_BITS;
        return reservedInLeaves | lowAddressBits | (level <= largeLevels + 1 ? 0 : VtdPteLayout.LARGE);
    }

    // ---- translations

    /** The permission bits that an access needs. */
    static long needed(Access access) {
        return switch (access) {
            case READ -> VtdPteLayout.READ;
            case WRITE -> VtdPteLayout.WRITE;
            case ATOMIC -> VtdPteLayout.PERMISSIONS;
        };
    }

    static boolean permits(long translation, Access access) {
        long needed = needed(access);
        return (translation & needed) == needed;
    }

    /** Whether a fault says that nothing is mapped there at all. */
    static boolean isAbsent(long fault) {
        return (fault & ABSENT) != 0;
    }

    /** What caching mode keeps for a page of which {@link #isAbsent} holds. */
    static long nowhere() {
        return NOWHERE;
    }

    static boolean isNowhere(long translation) {
        return translation == NOWHERE;
    }

    static int level(long translation) {
        return (int) (translation >>> LEVEL_SHIFT) & 3;
    }

    static long pageBytes(int level) {
        return VtdPteLayout.bytesAt(level);
    }

    /** The physical address that an address translates to. */
    static long apply(long translation, long iova) {
        return (translation & ~LOW_BITS) | (iova & (pageBytes(level(translation)) - 1));
    }
}
