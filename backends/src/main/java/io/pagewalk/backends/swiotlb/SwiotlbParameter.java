package io.pagewalk.backends.swiotlb;

import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.dma.memory.Addresses;

/**
 * What {@code swiotlb=} on a command line asks for: slots, areas, and the two flags. Any text is accepted, and giving
 * the parameter again adds to what it said before. Immutable.
 *
 * <p>Implements dma-core:SWC-1 to SWC-5.
 *
 * @param slots slots of the pool, unsigned
 * @param areas areas, a power of two, or 0 when the number of CPUs is to decide
 * @param force whether every mapping is to be bounced
 * @param disabled whether there is to be no pool, which wins over {@code force} (SWC-6)
 */
record SwiotlbParameter(long slots, long areas, boolean force, boolean disabled) {
    /** What holds when the command line says nothing: 64 MiB. */
    public static final SwiotlbParameter DEFAULT = new SwiotlbParameter(SwiotlbLayout.DEFAULT_SLOTS, 0, false, false);

    /**
     * Reads every {@code swiotlb=} of a command line.
     *
     * @param commandLine the line
     * @return what they ask for together
     */
    public static SwiotlbParameter of(KernelCommandLine commandLine) {
        SwiotlbParameter result = DEFAULT;
        for (String value : commandLine.values("swiotlb")) {
            result = result.and(value);
        }
        return result;
    }

    /**
     * Reads one more value, left to right: an integer of slots, one optional comma, an integer of areas, one optional
     * comma, and a rest that counts only when it is exactly {@code force} or {@code noforce}.
     *
     * @param value the text behind {@code swiotlb=}
     * @return this, changed by it
     */
    public SwiotlbParameter and(String value) {
        SwiotlbParameter result = this;
        CInteger reader = new CInteger(value);
        if (reader.atDigit()) {
            result = result.withSlots(Addresses.alignUp(reader.next(), SwiotlbLayout.SET_SLOTS));
        }
        reader.skipComma();
        if (reader.atDigit()) {
            result = result.withAreas(reader.next() & 0xffff_ffffL);
        }
        reader.skipComma();
        return switch (reader.rest()) {
            case "force" -> new SwiotlbParameter(result.slots, result.areas, true, result.disabled);
            case "noforce" -> new SwiotlbParameter(result.slots, result.areas, result.force, true);
            default -> result;
        };
    }

    private SwiotlbParameter withSlots(long newSlots) {
        return new SwiotlbParameter(newSlots, areas, force, disabled);
    }

    /**
     * Sets the number of areas, and makes the pool large enough for them (SWC-3, SWC-4).
     *
     * @param count areas asked for; 0 counts as 1, others are rounded up to a power of two
     * @return this, changed by it
     */
    public SwiotlbParameter withAreas(long count) {
        long newAreas = count == 0 ? 1 : roundUpToPowerOfTwo(count);
        long enough = Addresses.max(slots, newAreas * SwiotlbLayout.SET_SLOTS);
        return new SwiotlbParameter(roundUpToPowerOfTwo(enough), newAreas, force, disabled);
    }

    private static long roundUpToPowerOfTwo(long n) {
        return Long.bitCount(n) == 1 ? n : Long.highestOneBit(n) << 1;
    }
}
