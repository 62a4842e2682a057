package io.pagewalk.dma.events;

import io.pagewalk.dma.BusFault;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageFrames;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The driver side's book of live mappings and allocations, with the owners that they were tagged with, and the reporter
 * that joins a raw {@link BusFault} with it: nearest mapping, how far past its end, last unmap of that address and how
 * long ago. On a machine it also finds pages that are freed while a mapping leads to them
 * ({@link DmaListener#freedWhileMapped}).
 *
 * <p>Opt in by {@link io.pagewalk.dma.MachineBuilder#ledger}, or by making it a machine's listener. Thread-safe; it
 * allocates.
 */
public final class MappingLedger implements DmaListener {
    private record Ended(LiveRange mapping, long atNanos) {}

    /** What is known of one device. */
    private static final class Page {
        private final AddressIndex<LiveRange> live = new AddressIndex<>(LiveRange::dmaAddr, LiveRange::sizeBytes);
        private final ArrayDeque<Ended> ended = new ArrayDeque<>();
    }

    /** How many ended mappings are remembered of each device. */
    private static final int REMEMBERED = 4096;

    private final LongSupplier nowNanos;
    private final Map<Device, Page> pages = new LinkedHashMap<>();
    private @Nullable HeldPages<LiveRange> held;
    private long calls;

    /**
     * Makes an empty ledger.
     *
     * @param nowNanos the machine's time
     */
    public MappingLedger(LongSupplier nowNanos) {
        this.nowNanos = nowNanos;
    }

    /**
     * Finds out from now on when a page is freed that a streaming mapping leads to, made from now on: one of
     * {@code dma_map_page}, of which those of bounced buffers hold the buffer, or a segment of a list. The machine does
     * so with its ledger.
     *
     * @param frames the machine's frames
     * @param told told of each such page and mapping, by ascending address, on the thread that frees, outside any lock
     */
    public synchronized void watchPages(PageFrames frames, Consumer<FreedWhileMapped> told) {
        Objects.requireNonNull(told, "told");
        held = held == null ? new HeldPages<>() : held;
        frames.onEveryFree(
                (firstPfn, count) -> mappingsOf(frames, firstPfn, count).forEach(told));
    }

    /** A ledger may listen to several machines, whose addresses mean different pages. */
    private synchronized List<FreedWhileMapped> mappingsOf(PageFrames frames, long firstPfn, long count) {
        HeldPages<LiveRange> known = Objects.requireNonNull(held);
        List<FreedWhileMapped> events = new ArrayList<>();
        for (long pfn : known.heldOf(firstPfn, count)) {
            long physAddr = pfn << Addresses.PAGE_SHIFT;
            for (LiveRange range : known.holders(physAddr)) {
                if (range.device().machine().frames() == frames) {
                    events.add(new FreedWhileMapped(physAddr, range, nowNanos.getAsLong()));
                }
            }
        }
        return events;
    }

    // ---- what it is told

    @Override
    public synchronized void mappedPage(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        if (dmaAddr != -1L) {
            calls++;
            LiveRange made = add(device, dmaAddr, sizeBytes, direction, LiveRange.Kind.PAGE, physAddr);
            if (held != null) {
                held.hold(made, physAddr, sizeBytes);
            }
        }
    }

    @Override
    public synchronized void unmappingPage(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        remove(device, dmaAddr, sizeBytes);
    }

    /** Where segments merged, the first entry of a segment is not known any more. */
    @Override
    public synchronized void mappedSg(
            Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {
        calls++;
        boolean entriesAreSegments = result == nents;
        @Nullable LiveRange[] segments = new LiveRange[Math.max(result, 0)];
        for (int i = 0; i < result; i++) {
            if (sg.dmaLengthBytes(i) != 0) {
                long physAddr = entriesAreSegments ? sg.physAddr(i) : LiveRange.UNKNOWN_PHYS_ADDR;
                segments[i] = add(device, sg.dmaAddr(i), sg.dmaLengthBytes(i), direction, LiveRange.Kind.SG, physAddr);
            }
        }
        if (held != null) {
            hold(held, segments, sg, nents);
        }
    }

    /** A segment is made of entries that follow each other, and is as long as they are. */
    private static void hold(HeldPages<LiveRange> held, @Nullable LiveRange[] segments, SgTable sg, int nents) {
        boolean entriesAreSegments = segments.length == nents;
        int segment = 0;
        long filledBytes = 0;
        for (int i = 0; i < nents && segment < segments.length; i++) {
            LiveRange range = segments[segment];
            if (range != null) {
                held.hold(range, sg.physAddr(i), sg.lengthBytes(i));
            }
            filledBytes += sg.lengthBytes(i);
            if (entriesAreSegments || range == null || Addresses.lessOrEqual(range.sizeBytes(), filledBytes)) {
                segment++;
                filledBytes = 0;
            }
        }
    }

    @Override
    public synchronized void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        for (int i = 0; i < nents; i++) {
            if (sg.dmaLengthBytes(i) != 0) {
                remove(device, sg.dmaAddr(i), sg.dmaLengthBytes(i));
            }
        }
    }

    @Override
    public synchronized void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {
        calls++;
        add(
                device,
                dmaAddr,
                sizeBytes,
                DmaDirection.BIDIRECTIONAL,
                LiveRange.Kind.COHERENT,
                LiveRange.UNKNOWN_PHYS_ADDR);
    }

    @Override
    public synchronized void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        remove(device, dmaAddr, sizeBytes);
    }

    @Override
    public synchronized void allocatedInRegion(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        allocated(device, cpu, cpuAddr, dmaAddr, sizeBytes, 0);
    }

    @Override
    public synchronized void freedInRegion(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        remove(device, dmaAddr, sizeBytes);
    }

    @Override
    public synchronized void allocatedPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        calls++;
        add(device, dmaAddr, sizeBytes, direction, LiveRange.Kind.PAGES, physAddr);
    }

    @Override
    public synchronized void freeingPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        remove(device, dmaAddr, sizeBytes);
    }

    private LiveRange add(
            Device device, long dmaAddr, long sizeBytes, DmaDirection direction, LiveRange.Kind kind, long physAddr) {
        LiveRange made =
                new LiveRange(device, dmaAddr, sizeBytes, direction, kind, physAddr, "", calls, nowNanos.getAsLong());
        pageOf(device).live.add(made);
        return made;
    }

    /** Of several that begin there, the one of that size; else the first, as the kernel would take any. */
    private void remove(Device device, long dmaAddr, long sizeBytes) {
        Page page = pageOf(device);
        Collection<LiveRange> there = page.live.startingAt(dmaAddr);
        if (there.isEmpty()) {
            return;
        }
        LiveRange gone = there.stream()
                .filter(range -> range.sizeBytes() == sizeBytes)
                .findFirst()
                .orElseGet(() -> there.iterator().next());
        page.live.remove(gone);
        if (held != null) {
            held.release(gone);
        }
        if (page.ended.size() == REMEMBERED) {
            page.ended.removeLast();
        }
        page.ended.addFirst(new Ended(gone, nowNanos.getAsLong()));
    }

    private Page pageOf(Device device) {
        return pages.computeIfAbsent(device, d -> new Page());
    }

    // ---- owners

    /**
     * Says who a live range is for.
     *
     * @param device whose range
     * @param dmaAddr where it begins; of several the latest
     * @param owner a word for the owner
     * @return false when nothing begins there
     */
    public synchronized boolean tag(Device device, long dmaAddr, String owner) {
        Objects.requireNonNull(owner, "owner");
        AddressIndex<LiveRange> live = pageOf(device).live;
        LiveRange latest = live.startingAt(dmaAddr).stream()
                .reduce((earlier, later) -> later)
                .orElse(null);
        if (latest == null) {
            return false;
        }
        LiveRange tagged = latest.of(owner);
        live.remove(latest);
        live.add(tagged);
        if (held != null) {
            held.replace(latest, tagged);
        }
        return true;
    }

    /**
     * What each owner holds.
     *
     * @return the accounts by owner in alphabetical order; what nobody tagged comes first, under an empty name
     */
    public synchronized List<OwnerAccount> accounts() {
        Map<String, OwnerAccount> accounts = new TreeMap<>();
        forEachLive(range -> accounts.compute(
                range.owner(), (owner, so) -> (so == null ? OwnerAccount.none(owner) : so).and(range)));
        return List.copyOf(accounts.values());
    }

    // ---- what is there

    private void forEachLive(Consumer<LiveRange> visitor) {
        pages.values().forEach(page -> page.live.forEach(visitor));
    }

    /**
     * How many ranges are live.
     *
     * @return over all devices
     */
    public synchronized int liveCount() {
        return pages.values().stream().mapToInt(page -> page.live.size()).sum();
    }

    /**
     * All live ranges.
     *
     * @return a copy, by device in the order of their first call, then by ascending address
     */
    public synchronized List<LiveRange> live() {
        List<LiveRange> all = new ArrayList<>();
        forEachLive(all::add);
        return all;
    }

    /**
     * The live range of a device that starts nearest at or below an address; the latest of several that start there.
     *
     * @param device the device
     * @param dmaAddr the address
     * @return the range, or null when none starts at or below the address
     */
    public synchronized @Nullable LiveRange nearestBelow(Device device, long dmaAddr) {
        return pageOf(device).live.atOrBelow(dmaAddr);
    }

    /**
     * How much of an access lies in the mapping that it begins in. The segments of one list count as one mapping where
     * they follow each other; another mapping behind it is somebody else's.
     *
     * @param device who accesses
     * @param dmaAddr first byte
     * @param sizeBytes length
     * @return bytes from the first on, the most over all mappings that it may belong to; 0 when it begins in none
     */
    public synchronized long bytesInside(Device device, long dmaAddr, long sizeBytes) {
        AddressIndex<LiveRange> live = pageOf(device).live;
        List<LiveRange> candidates = new ArrayList<>();
        live.forEachContaining(dmaAddr, candidates::add);
        long most = 0;
        for (LiveRange range : candidates) {
            most = Addresses.max(most, bytesInside(live, range, dmaAddr, sizeBytes));
        }
        return most;
    }

    private static long bytesInside(AddressIndex<LiveRange> live, LiveRange range, long dmaAddr, long sizeBytes) {
        long inside = range.bytesFrom(dmaAddr);
        LiveRange segment = range;
        while (segment != null && Addresses.lessThan(inside, sizeBytes)) {
            segment = next(live, range.call(), dmaAddr + inside);
            inside += segment == null ? 0 : segment.sizeBytes();
        }
        return Addresses.min(inside, sizeBytes);
    }

    private static @Nullable LiveRange next(AddressIndex<LiveRange> live, long call, long dmaAddr) {
        return live.startingAt(dmaAddr).stream()
                .filter(range -> range.call() == call)
                .findFirst()
                .orElse(null);
    }

    // ---- what a person needs

    /**
     * Says of a fault what a person needs.
     *
     * @param fault the hardware's record
     * @return one line
     */
    public synchronized String describe(BusFault fault) {
        return fault + describe(fault.device(), fault.dmaAddr());
    }

    /**
     * Says what lies nearest to an address, and when it was unmapped.
     *
     * @param device whose address
     * @param dmaAddr the address
     * @return phrases, each after a semicolon
     */
    public synchronized String describe(Device device, long dmaAddr) {
        return nearest(device, dmaAddr) + lastUnmap(device, dmaAddr);
    }

    /** The one that it lies in, else the one whose end or start is nearer; distances as dma-debug has them. */
    private String nearest(Device device, long dmaAddr) {
        AddressIndex<LiveRange> live = pageOf(device).live;
        List<LiveRange> inside = new ArrayList<>();
        live.forEachContaining(dmaAddr, inside::add);
        if (!inside.isEmpty()) {
            return "; inside " + inside.get(0).describe();
        }
        LiveRange below = live.atOrBelow(dmaAddr);
        LiveRange above = live.above(dmaAddr);
        if (below == null && above == null) {
            return "; " + device.name() + " has no live mapping";
        }
        long past = below == null ? -1L : dmaAddr - below.dmaAddr() - below.sizeBytes();
        long before = above == null ? -1L : above.dmaAddr() - dmaAddr;
        return below != null && Addresses.lessOrEqual(past, before)
                ? phrase(past, "past the end of", below)
                : phrase(before, "before", Objects.requireNonNull(above));
    }

    private static String phrase(long bytes, String where, LiveRange range) {
        return "; " + Long.toUnsignedString(bytes) + " bytes " + where + " " + range.describe();
    }

    private String lastUnmap(Device device, long dmaAddr) {
        for (Ended latestFirst : pageOf(device).ended) {
            if (latestFirst.mapping().bytesFrom(dmaAddr) != 0) {
                long ago = nowNanos.getAsLong() - latestFirst.atNanos();
                String owner = latestFirst.mapping().owner();
                return "; that address was unmapped " + ago + " ns ago" + (owner.isEmpty() ? "" : ", held by " + owner);
            }
        }
        return "";
    }
}
