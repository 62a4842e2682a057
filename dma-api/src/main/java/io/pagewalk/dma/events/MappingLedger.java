package io.pagewalk.dma.events;

import io.pagewalk.dma.BusFault;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The driver side's book of live mappings, and the reporter that joins a raw {@link BusFault} with it: nearest mapping,
 * how far past its end, last unmap of that address and how long ago.
 *
 * <p>Opt in by making it a machine's listener. Thread-safe; it allocates.
 */
public final class MappingLedger implements DmaListener {
    /**
     * One live range of device addresses.
     *
     * @param device the owner
     * @param dmaAddr first byte
     * @param sizeBytes length
     * @param direction its direction
     * @param kind {@code page}, {@code sg}, {@code coherent} or {@code pages}
     * @param sinceNanos when it was made
     */
    public record Live(
            Device device, long dmaAddr, long sizeBytes, DmaDirection direction, String kind, long sinceNanos) {}

    private record Ended(Live mapping, long atNanos) {}

    /** How many ended mappings are remembered of each device. */
    private static final int REMEMBERED = 4096;

    private static final Comparator<Long> UNSIGNED = Long::compareUnsigned;

    private final LongSupplier nowNanos;
    /** By first address; without an IOMMU one buffer may be mapped several times at its one address. */
    private final Map<Device, NavigableMap<Long, ArrayDeque<Live>>> live = new HashMap<>();

    private final Map<Device, ArrayDeque<Ended>> ended = new HashMap<>();

    /**
     * Makes an empty ledger.
     *
     * @param nowNanos the machine's time
     */
    public MappingLedger(LongSupplier nowNanos) {
        this.nowNanos = nowNanos;
    }

    @Override
    public synchronized void mappedPage(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        if (dmaAddr != -1L) {
            add(device, dmaAddr, sizeBytes, direction, "page");
        }
    }

    @Override
    public synchronized void unmappingPage(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        remove(device, dmaAddr, sizeBytes);
    }

    @Override
    public synchronized void mappedSg(
            Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {
        for (int i = 0; i < result; i++) {
            if (sg.dmaLengthBytes(i) != 0) {
                add(device, sg.dmaAddr(i), sg.dmaLengthBytes(i), direction, "sg");
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
        add(device, dmaAddr, sizeBytes, DmaDirection.BIDIRECTIONAL, "coherent");
    }

    @Override
    public synchronized void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        remove(device, dmaAddr, sizeBytes);
    }

    @Override
    public synchronized void allocatedPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        add(device, dmaAddr, sizeBytes, direction, "pages");
    }

    @Override
    public synchronized void freeingPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        remove(device, dmaAddr, sizeBytes);
    }

    private void add(Device device, long dmaAddr, long sizeBytes, DmaDirection direction, String kind) {
        liveOf(device)
                .computeIfAbsent(dmaAddr, a -> new ArrayDeque<>())
                .addLast(new Live(device, dmaAddr, sizeBytes, direction, kind, nowNanos.getAsLong()));
    }

    private void remove(Device device, long dmaAddr, long sizeBytes) {
        @Nullable ArrayDeque<Live> there = liveOf(device).get(dmaAddr);
        if (there == null) {
            return;
        }
        Live gone = there.stream()
                .filter(mapping -> mapping.sizeBytes() == sizeBytes)
                .findFirst()
                .orElseGet(there::getFirst);
        there.removeFirstOccurrence(gone);
        if (there.isEmpty()) {
            liveOf(device).remove(dmaAddr);
        }
        remember(gone);
    }

    private void remember(Live gone) {
        ArrayDeque<Ended> past = ended.computeIfAbsent(gone.device(), d -> new ArrayDeque<>());
        if (past.size() == REMEMBERED) {
            past.removeLast();
        }
        past.addFirst(new Ended(gone, nowNanos.getAsLong()));
    }

    private NavigableMap<Long, ArrayDeque<Live>> liveOf(Device device) {
        return live.computeIfAbsent(device, d -> new TreeMap<>(UNSIGNED));
    }

    /**
     * How many ranges are live.
     *
     * @return over all devices
     */
    public synchronized int liveCount() {
        return live.values().stream()
                .flatMap(byAddr -> byAddr.values().stream())
                .mapToInt(ArrayDeque::size)
                .sum();
    }

    /**
     * The live range of a device that starts nearest at or below an address; the latest of several that start there.
     *
     * @param device the device
     * @param dmaAddr the address
     * @return the range, or null when none starts at or below the address
     */
    public synchronized @Nullable Live nearestBelow(Device device, long dmaAddr) {
        Map.@Nullable Entry<Long, ArrayDeque<Live>> entry = liveOf(device).floorEntry(dmaAddr);
        return entry == null ? null : entry.getValue().getLast();
    }

    /**
     * Says of a fault what a person needs.
     *
     * @param fault the hardware's record
     * @return one line
     */
    public synchronized String describe(BusFault fault) {
        return fault + nearest(fault.device(), fault.dmaAddr()) + lastUnmap(fault.device(), fault.dmaAddr());
    }

    private String nearest(Device device, long dmaAddr) {
        @Nullable Live below = nearestBelow(device, dmaAddr);
        if (below == null) {
            return "; no live mapping of " + device.name() + " starts at or below it";
        }
        long past = dmaAddr - below.dmaAddr() - below.sizeBytes();
        String where = Addresses.lessThan(dmaAddr - below.dmaAddr(), below.sizeBytes())
                ? "inside"
                : Long.toUnsignedString(past + 1) + " bytes past the end of";
        return "; " + where + " " + below.kind() + " mapping " + Addresses.hex(below.dmaAddr()) + "+"
                + Addresses.hex(below.sizeBytes()) + " " + below.direction();
    }

    private String lastUnmap(Device device, long dmaAddr) {
        for (Ended latestFirst : ended.getOrDefault(device, new ArrayDeque<>())) {
            Live mapping = latestFirst.mapping();
            if (Addresses.lessThan(dmaAddr - mapping.dmaAddr(), mapping.sizeBytes())) {
                long ago = nowNanos.getAsLong() - latestFirst.atNanos();
                return "; that address was unmapped " + ago + " ns ago";
            }
        }
        return "";
    }
}
