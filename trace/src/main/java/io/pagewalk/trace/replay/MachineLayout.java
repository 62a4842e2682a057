package io.pagewalk.trace.replay;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Where what lies in the replaying machine's memory: the trace's RAM, and the emulator's own. */
final class MachineLayout {
    /*
     * The trace's buffers stand at their own physical addresses, so whatever the emulator needs for itself must lie where a trace
     * cannot map: in the first hole (the bounce pool at its start, then pages for devices with narrow masks) and above the top of
     * RAM (page tables, and all other coherent memory).
     */
    static final long SLOT_BYTES = 2048;
    private static final long SET_SLOTS = 128;

    private static final long FOUR_GIB = 1L << 32;
    private static final long LEAST_LOW_PAGES = 128L << 20;
    private static final long MOST_LOW_PAGES = 256L << 20;
    private static final long HIGH_PAGES = 1L << 30;
    private static final long ALIGNMENT = 4L << 20;

    /* A fault is told from an address by the top bit, and an IOMMU's table entry has room for 52 bits. */
    private static final long HIGHEST_RAM_TOP = (1L << 52) - HIGH_PAGES - ALIGNMENT - 1;

    private final List<PhysRange> holes;
    private final PhysRange pool;
    private final PhysRange lowPages;
    private final PhysRange highPages;
    private final long ramTop;
    private final RamMap ram;

    private MachineLayout(MachineSpec spec) {
        holes = ascending(spec.holes());
        PhysRange first = holes.get(0);
        pool = PhysRange.ofSize(poolFirst(first), poolSlots(spec) * SLOT_BYTES);
        long lowFirst = Addresses.alignUp(pool.last() + 1, ALIGNMENT);
        lowPages = PhysRange.ofSize(
                lowFirst, Addresses.alignDown(Addresses.min(first.last() - lowFirst + 1, MOST_LOW_PAGES), ALIGNMENT));
        ramTop = spec.ramTop();
        highPages = PhysRange.ofSize(Addresses.alignUp(ramTop + 1, ALIGNMENT), HIGH_PAGES);
        ram = ramMap();
    }

    private static List<PhysRange> ascending(List<PhysRange> ranges) {
        List<PhysRange> sorted = new ArrayList<>(ranges);
        sorted.sort(Comparator.comparing(PhysRange::first, Long::compareUnsigned));
        return sorted;
    }

    private static long poolFirst(PhysRange hole) {
        return Addresses.alignUp(hole.first(), ALIGNMENT);
    }

    /** What a pool with areas is rounded up to (dma-core:SWC-4). */
    private static long poolSlots(MachineSpec spec) {
        long sets = Addresses.alignUp(spec.swiotlbSlots(), SET_SLOTS);
        return Long.bitCount(sets) == 1 ? sets : Long.highestOneBit(sets) << 1;
    }

    /** One area for each CPU, but no more than the pool has room for: a pool does not grow with the CPUs of a trace. */
    static long poolAreas(MachineSpec spec, int cpus) {
        return spec.swiotlbAreas() != 0 ? spec.swiotlbAreas() : Math.min(cpus, poolSlots(spec) / SET_SLOTS);
    }

    private static void checkAreas(String file, MachineSpec spec) throws MachineSpecException {
        if (spec.swiotlbAreas() * SET_SLOTS > poolSlots(spec)) {
            throw new MachineSpecException(
                    file,
                    "swiotlb.areas",
                    spec.swiotlbAreas() + " areas need " + spec.swiotlbAreas() * SET_SLOTS + " slots, and the pool has "
                            + poolSlots(spec));
        }
    }

    static MachineLayout of(MachineSpec spec) {
        return new MachineLayout(spec);
    }

    /** Refuses a machine that this layout does not fit on. */
    static void check(String file, MachineSpec spec) throws MachineSpecException {
        if (spec.holes().isEmpty()) {
            throw new MachineSpecException(
                    file, "holes", "there must be one, below 4 GiB, for the emulator's own pages");
        }
        List<PhysRange> holes = ascending(spec.holes());
        for (int i = 1; i < holes.size(); i++) {
            if (Addresses.lessOrEqual(holes.get(i).first(), holes.get(i - 1).last())) {
                throw new MachineSpecException(file, "holes", holes.get(i - 1) + " and " + holes.get(i) + " overlap");
            }
        }
        checkFirstHole(file, holes.get(0), poolSlots(spec) * SLOT_BYTES);
        checkAreas(file, spec);
        if (Addresses.lessThan(spec.ramTop(), holes.get(0).last())
                || Addresses.lessThan(HIGHEST_RAM_TOP, spec.ramTop())) {
            throw new MachineSpecException(
                    file,
                    "ramTop",
                    Addresses.hex(spec.ramTop()) + " is not between the end of the first hole, "
                            + Addresses.hex(holes.get(0).last()) + ", and " + Addresses.hex(HIGHEST_RAM_TOP));
        }
    }

    private static void checkFirstHole(String file, PhysRange hole, long poolBytes) throws MachineSpecException {
        long needed = poolBytes + LEAST_LOW_PAGES + 2 * ALIGNMENT;
        if (hole.first() == 0
                || Addresses.lessThan(FOUR_GIB, hole.last())
                || Addresses.lessThan(hole.sizeBytes(), needed)) {
            throw new MachineSpecException(
                    file,
                    "holes",
                    "the first, " + hole + ", must lie below 4 GiB, not at 0, and have " + Addresses.hex(needed)
                            + " bytes for the bounce pool and the emulator's own pages");
        }
    }

    private RamMap ramMap() {
        List<PhysRange> ranges = new ArrayList<>(List.of(pool, lowPages, highPages));
        long next = 0;
        for (PhysRange hole : holes) {
            if (Addresses.lessThan(next, hole.first()) && Addresses.lessThan(next, ramTop)) {
                ranges.add(new PhysRange(next, Addresses.min(hole.first() - 1, ramTop)));
            }
            next = hole.last() + 1;
        }
        if (Addresses.lessOrEqual(next, ramTop)) {
            ranges.add(new PhysRange(next, ramTop));
        }
        return RamMap.of(ranges);
    }

    RamMap ram() {
        return ram;
    }

    long poolBase() {
        return pool.first();
    }

    List<PhysRange> allocatable() {
        return List.of(lowPages, highPages);
    }

    /** Insists that a range of the trace is RAM of its own. */
    void requireRam(long lineNumber, String device, long physAddr, long sizeBytes) {
        if (sizeBytes == 0) {
            return;
        }
        long last = Addresses.last(physAddr, sizeBytes);
        if (Addresses.lessThan(ramTop, last) || Addresses.lessThan(last, physAddr)) {
            throw new AddressCollisionException(
                    lineNumber,
                    device,
                    physAddr,
                    sizeBytes,
                    "beyond the top of RAM " + Addresses.hex(ramTop),
                    "ramTop");
        }
        for (PhysRange hole : holes) {
            if (Addresses.lessOrEqual(hole.first(), last) && Addresses.lessOrEqual(physAddr, hole.last())) {
                throw new AddressCollisionException(
                        lineNumber, device, physAddr, sizeBytes, inHole(hole, physAddr, sizeBytes), "holes");
            }
        }
    }

    private String inHole(PhysRange hole, long physAddr, long sizeBytes) {
        if (overlaps(pool, physAddr, sizeBytes)) {
            return "in the hole " + hole + " where the emulator has its bounce pool " + pool;
        }
        if (overlaps(lowPages, physAddr, sizeBytes)) {
            return "in the hole " + hole + " where the emulator has its own pages " + lowPages;
        }
        return "in the hole " + hole + ", where there is no RAM";
    }

    private static boolean overlaps(PhysRange range, long physAddr, long sizeBytes) {
        return Addresses.overlaps(range.first(), range.sizeBytes(), physAddr, sizeBytes);
    }
}
