package io.pagewalk.rdma.mm;

import io.pagewalk.dma.FailurePoint;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The ranges of one address space, in ascending order and without overlap. Not thread-safe: the lock of
 * {@link UserMemory} guards it. Differs from Linux: neighbours that could be one range stay two.
 */
final class VmaMap {
    private final NavigableMap<Long, Vma> byStart = new TreeMap<>();
    private final FailurePoint allocations;

    VmaMap(FailurePoint allocations) {
        this.allocations = allocations;
    }

    /** The range that holds an address, null if none does. */
    @Nullable Vma find(long address) {
        Map.Entry<Long, Vma> entry = address < 0 ? null : byStart.floorEntry(address);
        return entry != null && address < entry.getValue().end ? entry.getValue() : null;
    }

    /** Passes the point where there may be no memory for one more range. */
    boolean canAdd() {
        return !allocations.fails();
    }

    void add(Vma vma) {
        byStart.put(vma.start, vma);
        if (vma.file != null) {
            vma.file.addUser();
        }
    }

    void remove(Vma vma) {
        byStart.remove(vma.start);
        if (vma.file != null) {
            vma.file.dropUser();
        }
    }

    List<Vma> all() {
        return new ArrayList<>(byStart.values());
    }

    /** The ranges that have a byte in [start, end). */
    List<Vma> overlapping(long start, long end) {
        List<Vma> found = new ArrayList<>();
        Vma first = find(start);
        if (first != null && first.start < start) {
            found.add(first);
        }
        found.addAll(byStart.subMap(start, end).values());
        return found;
    }

    boolean isFree(long start, long end) {
        return overlapping(start, end).isEmpty();
    }

    /** Makes an address the start of a range, if it lies inside one; false when there is no memory for that. */
    boolean splitAt(long address) {
        Vma vma = find(address);
        if (vma == null || vma.start == address) {
            return true;
        }
        if (!canAdd()) {
            return false;
        }
        Vma upper = vma.copy();
        upper.start = address;
        upper.pgoff = vma.filePageOf(upper.firstVpn());
        vma.end = address;
        add(upper);
        return true;
    }

    /** The highest free place of a size at or below an end; -1 if there is none. */
    long highestGap(long sizeBytes, long alignBytes, long lowest, long end) {
        long top = end;
        for (Vma vma : byStart.headMap(end, false).descendingMap().values()) {
            long fit = (top - sizeBytes) & -alignBytes;
            if (fit >= vma.end) {
                return fit;
            }
            top = Math.min(top, vma.start);
        }
        long fit = (top - sizeBytes) & -alignBytes;
        return fit >= lowest ? fit : -1;
    }
}
