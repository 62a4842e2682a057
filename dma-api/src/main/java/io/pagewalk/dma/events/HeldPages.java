package io.pagewalk.dma.events;

import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * Which pages of memory live mappings lead to. A page counts as held when any byte of it is mapped; a mapping may hold
 * pages that lie apart. What it costs goes with the number of ranges, not of pages. Not thread-safe.
 *
 * @param <M> a mapping, with equality of its own
 */
public final class HeldPages<M> {
    /** From the start of a page, so that a page is held when its first byte lies inside. */
    private record Run<M>(M mapping, long physAddr, long sizeBytes, long sequence) {}

    /** By the number of bits of their sizes: a look-up goes down as far as the largest run of an index reaches. */
    private final SortedMap<Integer, AddressIndex<Run<M>>> bySize = new TreeMap<>();

    private final Map<M, List<Run<M>>> byMapping = new HashMap<>();
    private long nextSequence;

    /** Makes an index of nothing. */
    public HeldPages() {}

    /**
     * Adds a range to what a mapping holds.
     *
     * @param mapping the mapping
     * @param physAddr first byte
     * @param sizeBytes length, unsigned; 0 holds nothing
     */
    public void hold(M mapping, long physAddr, long sizeBytes) {
        if (sizeBytes == 0) {
            return;
        }
        long first = Addresses.alignDown(physAddr, Addresses.PAGE_SIZE);
        add(new Run<>(mapping, first, Addresses.last(physAddr, sizeBytes) - first + 1, nextSequence++));
    }

    private void add(Run<M> run) {
        bySize.computeIfAbsent(sizeClass(run), c -> new AddressIndex<>(Run::physAddr, Run::sizeBytes))
                .add(run);
        byMapping.computeIfAbsent(run.mapping, m -> new ArrayList<>(1)).add(run);
    }

    private static int sizeClass(Run<?> run) {
        return Long.SIZE - Long.numberOfLeadingZeros(run.sizeBytes);
    }

    private void remove(Run<M> run) {
        bySize.computeIfPresent(sizeClass(run), (c, runs) -> {
            runs.remove(run);
            return runs.size() == 0 ? null : runs;
        });
    }

    /**
     * Lets go of all that a mapping holds.
     *
     * @param mapping the mapping; nothing happens when it holds nothing
     */
    public void release(M mapping) {
        List<Run<M>> gone = byMapping.remove(mapping);
        if (gone != null) {
            gone.forEach(this::remove);
        }
    }

    /**
     * Puts one mapping in the place of another, in the order too.
     *
     * @param before holds nothing any more
     * @param after holds what the other one did
     */
    public void replace(M before, M after) {
        List<Run<M>> moved = byMapping.get(before);
        if (moved != null) {
            release(before);
            moved.forEach(run -> add(new Run<>(after, run.physAddr, run.sizeBytes, run.sequence)));
        }
    }

    /**
     * Which of some pages are held.
     *
     * @param firstPfn the first of them
     * @param count how many, from 1
     * @return their numbers, ascending
     */
    public SortedSet<Long> heldOf(long firstPfn, long count) {
        SortedSet<Long> held = new TreeSet<>();
        Consumer<Run<M>> addPages = run -> {
            long first = Math.max(firstPfn, run.physAddr >>> Addresses.PAGE_SHIFT);
            long last = Addresses.last(run.physAddr, run.sizeBytes) >>> Addresses.PAGE_SHIFT;
            for (long pfn = first; pfn <= Math.min(last, firstPfn + count - 1); pfn++) {
                held.add(pfn);
            }
        };
        for (AddressIndex<Run<M>> runs : bySize.values()) {
            runs.forEachOverlapping(firstPfn << Addresses.PAGE_SHIFT, count << Addresses.PAGE_SHIFT, addPages);
        }
        return held;
    }

    /**
     * Who holds a page.
     *
     * @param physAddr its first byte
     * @return a copy, each mapping once, in the order in which they began to hold it
     */
    public List<M> holders(long physAddr) {
        List<Run<M>> found = new ArrayList<>();
        bySize.values().forEach(runs -> runs.forEachContaining(physAddr, found::add));
        return found.stream()
                .sorted(Comparator.comparingLong(Run::sequence))
                .map(Run::mapping)
                .distinct()
                .toList();
    }
}
