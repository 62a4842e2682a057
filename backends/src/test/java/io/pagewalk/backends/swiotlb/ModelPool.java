package io.pagewalk.backends.swiotlb;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A pool as one would write it down from the requirements without a thought for speed: slots are a set of taken
 * numbers, every count is counted anew, memory is one array of bytes.
 */
final class ModelPool {
    static final long SLOT = 2048;
    static final int SET = 128;

    /** One live mapping. */
    record Mapping(long tlb, long orig, long size, long allocSize, int first, int count, int padding, long minAlign) {}

    final byte[] memory;
    private final long start;
    private final int slots;
    private final int areas;
    private final int[] index;
    private final TreeMap<Integer, Mapping> taken = new TreeMap<>();
    private final Map<Long, Mapping> byAddress = new LinkedHashMap<>();
    int hiwater;

    ModelPool(byte[] memory, long start, int slots, int areas) {
        this.memory = memory;
        this.start = start;
        this.slots = slots;
        this.areas = areas;
        this.index = new int[areas];
    }

    int used() {
        return taken.size();
    }

    int slots() {
        return slots;
    }

    int areas() {
        return areas;
    }

    long start() {
        return start;
    }

    List<Mapping> live() {
        return new ArrayList<>(byAddress.values());
    }

    boolean isFree(int slot) {
        return !taken.containsKey(slot);
    }

    /** SWS-12, counted. */
    int freeRun(int slot) {
        int run = 0;
        while (slot + run < slots && (slot + run) / SET == slot / SET && isFree(slot + run)) {
            run++;
        }
        return run;
    }

    int[] freeRuns() {
        int[] runs = new int[slots];
        for (int slot = slots - 1; slot >= 0; slot--) {
            boolean last = (slot + 1) % SET == 0 || slot + 1 == slots;
            runs[slot] = isFree(slot) ? 1 + (last ? 0 : runs[slot + 1]) : 0;
        }
        return runs;
    }

    int index(int area) {
        return index[area];
    }

    /** SWM-3 to SWM-9. Gives -1 when nothing is found. */
    long map(int cpu, long orig, long size, long alignMask, long minAlign, long boundary, long dmaShift) {
        for (int k = 0; k < areas; k++) {
            long tlb = mapIn((cpu % areas + k) % areas, orig, size, alignMask, minAlign, boundary, dmaShift);
            if (tlb != -1) {
                return tlb;
            }
        }
        return -1;
    }

    /** SWM-3, SWM-4: bytes that a mapping takes. */
    static long total(long orig, long size, long alignMask, long minAlign) {
        long fullOffset = orig & minAlign & (alignMask | (SLOT - 1));
        return (size + fullOffset + alignMask) / (alignMask + 1) * (alignMask + 1);
    }

    /** Like {@link #map}, in one area. */
    long mapIn(int area, long orig, long size, long alignMask, long minAlign, long boundary, long dmaShift) {
        long fullOffset = orig & minAlign & (alignMask | (SLOT - 1));
        long total = total(orig, size, alignMask, minAlign);
        int count = (int) ((total + SLOT - 1) / SLOT);
        int first = findIn(area, orig, total, count, alignMask, minAlign, boundary, dmaShift);
        if (first < 0) {
            return -1;
        }
        moveOn(area, first, count);
        int padding = (int) (fullOffset / SLOT);
        long tlb = start + (first + padding) * SLOT + fullOffset % SLOT;
        Mapping mapping =
                new Mapping(tlb, orig, size, total - (orig & minAlign & (SLOT - 1)), first, count, padding, minAlign);
        for (int slot = first; slot < first + count; slot++) {
            taken.put(slot, mapping);
        }
        byAddress.put(tlb, mapping);
        hiwater = Math.max(hiwater, used());
        System.arraycopy(memory, (int) orig, memory, (int) tlb, (int) size);
        return tlb;
    }

    /** SWX-5: slots without an original, aligned to their order on the bus. Gives -1 when nothing is found. */
    long alloc(int cpu, long size, long minAlign, long boundary, long dmaShift) {
        long block = 4096;
        while (block < size) {
            block *= 2;
        }
        int count = (int) ((size + SLOT - 1) / SLOT);
        int first = find(cpu, 0, size, count, block - 1, minAlign, boundary, dmaShift);
        if (first < 0) {
            return -1;
        }
        Mapping mapping = new Mapping(start + first * SLOT, 0, size, size, first, count, 0, minAlign);
        for (int slot = first; slot < first + count; slot++) {
            taken.put(slot, mapping);
        }
        byAddress.put(mapping.tlb(), mapping);
        hiwater = Math.max(hiwater, used());
        return mapping.tlb();
    }

    private int find(
            int cpu, long orig, long total, int count, long alignMask, long minAlign, long boundary, long dmaShift) {
        for (int k = 0; k < areas; k++) {
            int area = (cpu % areas + k) % areas;
            int slot = findIn(area, orig, total, count, alignMask, minAlign, boundary, dmaShift);
            if (slot >= 0) {
                moveOn(area, slot, count);
                return slot;
            }
        }
        return -1;
    }

    private void moveOn(int area, int slot, int count) {
        int next = slot - area * (slots / areas) + count;
        index[area] = next >= slots / areas ? 0 : next;
    }

    private int findIn(
            int area, long orig, long total, int count, long alignMask, long minAlign, long boundary, long dmaShift) {
        int areaSlots = slots / areas;
        if (count > freeIn(area)) {
            return -1;
        }
        long am = alignMask == 0 && minAlign == 0 && total >= 4096 ? 4095 : alignMask;
        am |= SLOT - 1;
        long im = minAlign & ~am;
        long stride = Math.max(am, im) / SLOT + 1;
        long table = (start + dmaShift) & boundary;
        int at = index[area];
        for (long passed = 0; passed < areaSlots; ) {
            int slot = area * areaSlots + at;
            long address = table + slot * SLOT;
            boolean right = (address & am) == 0 && (orig == 0 || (address & im) == (orig & im));
            if (right && !crosses(table, slot, count, boundary) && freeRun(slot) >= count) {
                return slot;
            }
            long step = right ? stride : 1;
            at = at + step >= areaSlots ? 0 : (int) (at + step);
            passed += step;
        }
        return -1;
    }

    private static boolean crosses(long table, int slot, int count, long boundary) {
        if (boundary == -1) {
            return false;
        }
        long inSegment = (table + SLOT - 1) / SLOT + slot;
        long segment = (boundary + 1) / SLOT;
        return inSegment % segment + count > segment;
    }

    private int freeIn(int area) {
        int areaSlots = slots / areas;
        return areaSlots
                - taken.subMap(area * areaSlots, (area + 1) * areaSlots).size();
    }

    /** SWB-1 to SWB-5 for a part of a mapping that starts {@code offset} bytes into it. */
    void copy(Mapping mapping, long offset, long size, boolean toDevice) {
        long limit = Math.min(size, limit(mapping, offset));
        int orig = (int) (mapping.orig() + offset);
        int tlb = (int) (mapping.tlb() + offset);
        if (toDevice) {
            System.arraycopy(memory, orig, memory, tlb, (int) limit);
        } else {
            System.arraycopy(memory, tlb, memory, orig, (int) limit);
        }
    }

    /** What is left of the allocation behind a byte of the mapping (SWB-4). */
    long limit(Mapping mapping, long offset) {
        long skipped = mapping.padding() * SLOT;
        return mapping.allocSize() - skipped - offset;
    }

    void unmap(Mapping mapping) {
        for (int slot = mapping.first(); slot < mapping.first() + mapping.count(); slot++) {
            taken.remove(slot);
        }
        byAddress.remove(mapping.tlb());
    }
}
