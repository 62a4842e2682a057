package io.pagewalk.trace.predict;

import io.pagewalk.dma.Dma;
import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceEvent.SwiotlbBounced;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The bounces that a task made and that no line of a call has claimed yet, in attempts at one call each. */
final class Attempts {
    /** A driver that fails tries again; whoever does nothing else for so long is not about to succeed. */
    private static final int MOST = 64;

    private final ArrayDeque<Attempt> attempts = new ArrayDeque<>();

    /** A bounce and where the machine put it. */
    record Bounce(SwiotlbBounced event, long dmaAddr) {}

    /** The bounces of a call so far. A mapping that fails is the last one. */
    static final class Attempt {
        private final List<Bounce> bounces = new ArrayList<>();
        private boolean failed;

        void add(SwiotlbBounced event, long dmaAddr) {
            bounces.add(new Bounce(event, dmaAddr));
            failed |= dmaAddr == Dma.DMA_MAPPING_ERROR;
        }

        List<Bounce> bounces() {
            return bounces;
        }

        Bounce last() {
            return bounces.get(bounces.size() - 1);
        }

        boolean hasFailed() {
            return failed;
        }

        boolean isOf(String device) {
            return bounces.isEmpty() || bounces.get(0).event.device().equals(device);
        }

        /** Where the machine has a bounce now: nowhere once the attempt has failed. */
        private long dmaAddr(Bounce bounce) {
            return failed ? Dma.DMA_MAPPING_ERROR : bounce.dmaAddr;
        }
    }

    /** Where the entries of a list were put; those that did not bounce are left open. */
    static final class Claim {
        private final long[] addrs;
        private final long[] sizes;

        private Claim(int entries) {
            addrs = new long[entries];
            sizes = new long[entries];
        }

        private void put(int entry, Attempt attempt, Bounce bounce) {
            addrs[entry] = attempt.dmaAddr(bounce);
            sizes[entry] = bounce.event.sizeBytes();
        }

        boolean has(int entry) {
            return sizes[entry] != 0;
        }

        long[] addrs() {
            return addrs;
        }

        long[] sizes() {
            return sizes;
        }
    }

    @Nullable Attempt current() {
        return attempts.peekLast();
    }

    Attempt begin() {
        Attempt attempt = new Attempt();
        attempts.add(attempt);
        return attempt;
    }

    /** Takes the oldest attempt off, when there are too many. */
    @Nullable Attempt limit() {
        return attempts.size() < MOST ? null : attempts.poll();
    }

    Iterable<Attempt> all() {
        return attempts;
    }

    void clear() {
        attempts.clear();
    }

    /** Takes the last bounce away when it is that of a page mapping. */
    @Nullable Bounce takeLast(String device, long physAddr, long sizeBytes) {
        Attempt attempt = attempts.peekLast();
        if (attempt == null || attempt.bounces.isEmpty()) {
            return null;
        }
        Bounce last = attempt.last();
        SwiotlbBounced event = last.event;
        if (!event.device().equals(device) || event.devAddr() != physAddr || event.sizeBytes() != sizeBytes) {
            return null;
        }
        attempt.bounces.remove(attempt.bounces.size() - 1);
        if (attempt.bounces.isEmpty()) {
            attempts.removeLast();
        }
        return last;
    }

    /**
     * Takes the bounces of a list away, latest first; attempts of which none is the list's stay. Entries that the
     * kernel does not print, of a long list, come last and are added to the printed ones.
     */
    Claim claim(SgEvent.MapSg event) {
        int printed = event.physAddrs().length;
        int hidden = event.truncated() ? hiddenBounces(event) : 0;
        Claim claim = new Claim(printed + hidden);
        int entry = printed + hidden - 1;
        while (entry >= 0 && !attempts.isEmpty() && attempts.getLast().isOf(event.device())) {
            int before = entry;
            entry = claim(attempts.getLast(), event, claim, entry);
            if (entry == before || !attempts.getLast().bounces.isEmpty()) {
                return claim;
            }
            attempts.removeLast();
        }
        return claim;
    }

    private int hiddenBounces(SgEvent.MapSg event) {
        Attempt attempt = attempts.peekLast();
        int hidden = event.fullNents() - event.physAddrs().length;
        return attempt == null || attempt.bounces.size() < event.fullNents() ? 0 : hidden;
    }

    /** Matches an attempt's bounces from the last one down; returns the last entry that has none yet. */
    private static int claim(Attempt attempt, SgEvent.MapSg event, Claim claim, int fromEntry) {
        int entry = fromEntry;
        for (int i = attempt.bounces.size() - 1; i >= 0 && entry >= 0; i--) {
            int match = lastIndexOf(
                    event.physAddrs(), entry, attempt.bounces.get(i).event.devAddr());
            if (match >= 0) {
                claim.put(match, attempt, attempt.bounces.remove(i));
                entry = match - 1;
            }
        }
        return entry;
    }

    private static int lastIndexOf(long[] physAddrs, int from, long physAddr) {
        if (from >= physAddrs.length) {
            return from;
        }
        int at = from;
        while (at >= 0 && physAddrs[at] != physAddr) {
            at--;
        }
        return at;
    }
}
