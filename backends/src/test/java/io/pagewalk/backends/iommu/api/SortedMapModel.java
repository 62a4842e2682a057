package io.pagewalk.backends.iommu.api;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a VT-d domain of three levels must hold, told by a sorted map of leaves and the places that have a table,
 * without any bytes: every rule written down a second time, as plainly as possible.
 */
final class SortedMapModel {
    static final int EINVAL = -22;
    static final int EFAULT = -14;
    private static final int LEVELS = 3;
    private static final long WIDTH_END = 1L << 39;

    /** One leaf. */
    record Leaf(long phys, int level, int perm) {}

    final TreeMap<Long, Leaf> leaves = new TreeMap<>();
    /** For each level above 1 that has entries pointing to tables: start of what the entry spans, to its level. */
    final TreeMap<Long, Integer> tablesAt2 = new TreeMap<>();

    final TreeMap<Long, Integer> tablesAt3 = new TreeMap<>();
    private long maxAddr;

    static long span(int level) {
        return 4096L << (9 * (level - 1));
    }

    private static boolean aligned(long value, long to) {
        return value % to == 0;
    }

    // ---- the core's loop

    int map(long iova, long phys, long size, int prot) {
        if (!aligned(iova, 4096) || !aligned(phys, 4096) || !aligned(size, 4096)) {
            return EINVAL;
        }
        long done = 0;
        while (done < size) {
            long page = pageSize(iova + done, phys + done, size - done);
            long bytes = chunk(page, iova + done, phys + done, size - done);
            int error = driverMap(iova + done, phys + done, bytes, prot);
            if (error != 0) {
                unmap(iova, done);
                return error;
            }
            done += bytes;
        }
        return 0;
    }

    long unmap(long iova, long size) {
        if (!aligned(iova, 4096) || !aligned(size, 4096)) {
            return 0;
        }
        long done = 0;
        while (done < size) {
            long page = pageSize(iova + done, iova + done, size - done);
            long bytes = driverUnmap(iova + done, chunk(page, iova + done, iova + done, size - done));
            if (bytes == 0) {
                break;
            }
            done += bytes;
        }
        return done;
    }

    private static long pageSize(long iova, long phys, long size) {
        long best = 4096;
        for (int level = 2; level <= LEVELS; level++) {
            long page = span(level);
            if (page <= size && aligned(iova, page) && aligned(phys, page)) {
                best = page;
            }
        }
        return best;
    }

    /**
     * All of it, unless the next larger page fits whole behind the nearest boundary that both addresses reach at once.
     */
    private static long chunk(long page, long iova, long phys, long size) {
        if (page < span(LEVELS)) {
            long next = page * 512;
            long toNext = next - iova % next;
            if (iova % next == phys % next && toNext + next <= size) {
                return toNext;
            }
        }
        return size / page * page;
    }

    // ---- the driver

    private int driverMap(long iova, long phys, long size, int prot) {
        long end = iova + size;
        if (end > maxAddr) {
            if (end > WIDTH_END) {
                return EFAULT;
            }
            maxAddr = end;
        }
        if ((prot & 3) == 0) {
            return EINVAL;
        }
        for (long at = 0; at < size; ) {
            int level = 1;
            for (int l = 2; l <= LEVELS; l++) {
                if (aligned(iova + at, span(l)) && aligned(phys + at, span(l)) && size - at >= span(l)) {
                    level = l;
                }
            }
            at += write(iova + at, phys + at, level, prot | 1, size - at);
        }
        return 0;
    }

    private long write(long iova, long phys, int level, int perm, long left) {
        Map.@Nullable Entry<Long, Leaf> above = leafAt(iova);
        if (above != null && above.getValue().level() > level) {
            return Math.min(left, above.getKey() + span(above.getValue().level()) - iova);
        }
        makeTables(iova, level);
        if (level > 1) {
            drop(iova, iova + span(level) - 1);
            tables(level).remove(iova);
        }
        leaves.putIfAbsent(iova, new Leaf(phys, level, perm & 3));
        return span(level);
    }

    private void makeTables(long iova, int leafLevel) {
        for (int level = LEVELS; level > leafLevel; level--) {
            tables(level).put(iova - iova % span(level), level);
        }
    }

    private Map<Long, Integer> tables(int level) {
        return level == 3 ? tablesAt3 : tablesAt2;
    }

    Map.@Nullable Entry<Long, Leaf> leafAt(long iova) {
        Map.@Nullable Entry<Long, Leaf> below = leaves.floorEntry(iova);
        return below != null && iova - below.getKey() < span(below.getValue().level()) ? below : null;
    }

    private long driverUnmap(long iova, long size) {
        if (iova >= WIDTH_END) {
            return 0;
        }
        int level = LEVELS;
        while (level > 1 && tables(level).containsKey(iova - iova % span(level))) {
            level--;
        }
        long bytes = Math.max(size, span(level));
        drop(iova, iova + bytes - 1);
        if (maxAddr == iova + bytes) {
            maxAddr = iova;
        }
        return bytes;
    }

    /** What lies wholly within the range goes, tables as well; a large leaf that is not covered stays. */
    private void drop(long first, long last) {
        leaves.entrySet()
                .removeIf(e ->
                        e.getKey() >= first && e.getKey() + span(e.getValue().level()) - 1 <= last);
        for (int level = 2; level <= LEVELS; level++) {
            long bytes = span(level);
            tables(level).keySet().removeIf(start -> start >= first && start + bytes - 1 <= last);
        }
    }

    // ---- what can be seen

    long iovaToPhys(long iova) {
        Map.@Nullable Entry<Long, Leaf> leaf = leafAt(iova);
        return leaf == null ? 0 : leaf.getValue().phys() + (iova - leaf.getKey());
    }

    /** The root, and a page for each entry that points to a table. */
    long tablePages() {
        return 1L + tablesAt2.size() + tablesAt3.size();
    }
}
