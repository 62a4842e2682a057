package io.pagewalk.backends.iommu.unit;

import io.pagewalk.backends.iommu.pgtable.TableMemory;
import io.pagewalk.backends.iommu.pgtable.VtdPteLayout;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.spi.BusPort;

/**
 * The hardware's walk of second-stage tables. Implements iommu:VTD-9, iommu:FLT-5 and iommu:FLT-7.
 *
 * <p>A walk answers a translation, which packs the address of the page, whatever its size, with its level (bits 3:2)
 * and the permissions of the whole way (bit 0 read, bit 1 write), or a fault of {@link BusPort#fault}. Thread-safe;
 * allocates nothing.
 */
final class SecondStageWalk {
    private static final long LOW_BITS = 0xfff;
    private static final int LEVEL_SHIFT = 2;

    private final TableMemory tables;
    private final long reserved;
    private final long reservedInLeaves;
    private final int largeLevels;

    SecondStageWalk(TableMemory tables, VtdFeatures features) {
        this.tables = tables;
        this.reserved = VtdPteLayout.HARDWARE_ADDRESS & (-1L << features.hostBits());
        this.reservedInLeaves = features.snoopControl() ? reserved : reserved | VtdPteLayout.SNOOP;
        this.largeLevels = features.largeLevels();
    }

    /**
     * Walks.
     *
     * @param root the table of the highest level
     * @param levels how many levels there are
     * @param iova an address within their width
     * @param access what must be allowed
     * @return a translation or a fault
     */
    long walk(long root, int levels, long iova, Access access) {
        long needed = needed(access);
        long pfn = iova >>> 12;
        long table = root;
        long permissions = VtdPteLayout.PERMISSIONS;
        for (int level = levels; ; level--) {
            long slot = VtdPteLayout.slot(table, pfn, level);
            if (!tables.isReachable(slot)) {
                return BusPort.fault(VtdFaultReason.TABLE_UNREACHABLE);
            }
            long entry = tables.entry(slot);
            permissions &= entry;
            if ((permissions & needed) != needed) {
                return denied(permissions, access);
            }
            boolean leaf = level == 1 || VtdPteLayout.isLarge(entry);
            if ((entry & reservedAt(level, leaf)) != 0) {
                return BusPort.fault(VtdFaultReason.PAGING_RESERVED);
            }
            table = entry & VtdPteLayout.HARDWARE_ADDRESS;
            if (leaf) {
                return table | (long) level << LEVEL_SHIFT | permissions;
            }
        }
    }

    private static long denied(long permissions, Access access) {
        boolean noWrite = access.writes() && (permissions & VtdPteLayout.WRITE) == 0;
        return BusPort.fault(noWrite ? VtdFaultReason.NO_WRITE : VtdFaultReason.NO_READ);
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
