package io.pagewalk.trace.check;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.debug.Segment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The lists of a trace by device and first physical address, since the line of an unmap has nothing else. Not
 * thread-safe.
 */
final class ListBook {
    /*
     * A driver hands its scatterlist to unmap, with the DMA side in it; the trace shows only the CPU side. So the list is looked
     * for that has it: of the live ones at the address the oldest with the same entries and direction, else with the same
     * entries, else one that begins with the same ones, as when a driver gives the wrong count. Of ended lists the latest few are
     * remembered, so that a list that is unmapped twice can be named.
     */
    static final int REMEMBERED = 16;

    /** A list that was mapped. */
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record MappedList(DmaDirection direction, int nents, long[] physAddrs, List<Segment> segments) {
        boolean startsLike(long[] others) {
            int common = Math.min(physAddrs.length, others.length);
            for (int i = 0; i < common; i++) {
                if (physAddrs[i] != others[i]) {
                    return false;
                }
            }
            return common > 0;
        }

        boolean isLike(long[] others) {
            return nents == others.length && startsLike(others);
        }

        /** The entries that are known, of as many as are asked for. */
        List<Segment> first(int count) {
            return segments.subList(0, Math.min(count, segments.size()));
        }
    }

    private record Place(String device, long physAddr) {}

    private final Map<Place, ArrayDeque<MappedList>> live = new HashMap<>();
    private final Map<Place, ArrayDeque<MappedList>> ended = new HashMap<>();

    void add(String device, MappedList list) {
        if (list.physAddrs.length > 0) {
            live.computeIfAbsent(new Place(device, list.physAddrs[0]), p -> new ArrayDeque<>(1))
                    .addLast(list);
        }
    }

    /** Ends a live list, or finds one that ended already; null when none is known. */
    @Nullable MappedList end(String device, DmaDirection direction, long[] physAddrs) {
        if (physAddrs.length == 0) {
            return null;
        }
        Place place = new Place(device, physAddrs[0]);
        ArrayDeque<MappedList> there = live.get(place);
        MappedList found = best(there, direction, physAddrs);
        if (found == null || there == null) {
            return best(ended.get(place), direction, physAddrs);
        }
        there.removeFirstOccurrence(found); // lists are equal to themselves alone
        if (there.isEmpty()) {
            live.remove(place);
        }
        remember(place, found);
        return found;
    }

    private void remember(Place place, MappedList list) {
        ArrayDeque<MappedList> past = ended.computeIfAbsent(place, p -> new ArrayDeque<>(1));
        if (past.size() == REMEMBERED) {
            past.removeLast();
        }
        past.addFirst(list);
    }

    private static @Nullable MappedList best(
            @Nullable ArrayDeque<MappedList> lists, DmaDirection direction, long[] physAddrs) {
        if (lists == null) {
            return null;
        }
        MappedList like = null;
        MappedList begins = null;
        for (MappedList list : new ArrayList<>(lists)) {
            if (list.isLike(physAddrs) && list.direction == direction) {
                return list;
            }
            like = like == null && list.isLike(physAddrs) ? list : like;
            begins = begins == null && list.startsLike(physAddrs) ? list : begins;
        }
        return like == null ? begins : like;
    }

    void forget() {
        live.clear();
    }
}
