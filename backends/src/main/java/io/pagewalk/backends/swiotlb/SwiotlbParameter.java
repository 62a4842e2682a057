package io.pagewalk.backends.swiotlb;

import io.pagewalk.backends.boot.CInteger;
import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.dma.memory.Addresses;
import java.util.function.Consumer;

/**
 * What {@code swiotlb=} on a command line asks for: slots, areas, and the two flags. Any text is accepted, and giving
 * the parameter again adds to what it said before. Immutable.
 *
 * <p>Implements dma-core:SWC-1 to SWC-5, SWC-10.
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
     * @param log told of areas and of sizes that change with them (SWC-3)
     * @return what they ask for together
     */
    public static SwiotlbParameter of(KernelCommandLine commandLine, Consumer<String> log) {
        SwiotlbParameter result = DEFAULT;
        for (String value : commandLine.values("swiotlb")) {
            result = result.and(value, log);
        }
        return result;
    }

    /**
     * Reads one more value, left to right: an integer of slots, one optional comma, an integer of areas, one optional
     * comma, and a rest that counts only when it is exactly {@code force} or {@code noforce}.
     *
     * @param value the text behind {@code swiotlb=}
     * @param log told of areas and of sizes that change with them (SWC-3)
     * @return this, changed by it
     */
    public SwiotlbParameter and(String value, Consumer<String> log) {
        SwiotlbParameter result = this;
        CInteger reader = new CInteger(value);
        if (reader.atDigit()) {
            result = result.withSlots(Addresses.alignUp(reader.next(), SwiotlbLayout.SET_SLOTS));
        }
        reader.skipComma();
        if (reader.atDigit()) {
            result = result.withAreas(reader.next() & 0xffff_ffffL, log);
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
     * @param log told of the areas, and of the size if it changes
     * @return this, changed by it
     */
    public SwiotlbParameter withAreas(long count, Consumer<String> log) {
        long newAreas = count == 0 ? 1 : roundUpToPowerOfTwo(count);
        log.accept("area num " + newAreas + " (dma-core:SWC-3)");
        return new SwiotlbParameter(slots, newAreas, force, disabled).roundedForAreas(log);
    }

    private SwiotlbParameter roundedForAreas(Consumer<String> log) {
        SwiotlbParameter rounded = roundedForAreas();
        if (rounded.slots != slots) {
            log.accept("bounce pool size rounded up to " + (rounded.slots >>> (20 - SwiotlbLayout.SLOT_SHIFT))
                    + " MiB (dma-core:SWC-4)");
        }
        return rounded;
    }

    /** SWC-4: nothing while the number of areas is open. */
    private SwiotlbParameter roundedForAreas() {
        if (areas == 0) {
            return this;
        }
        return withSlots(roundUpToPowerOfTwo(Addresses.max(slots, areas * SwiotlbLayout.SET_SLOTS)));
    }

    /**
     * {@code swiotlb_adjust_size}: what a platform asks for when nobody else has (SWC-10).
     *
     * @param sizeBytes bytes of the pool
     * @return this, changed by it; unchanged unless the default size still holds
     */
    public SwiotlbParameter adjusted(long sizeBytes) {
        if (slots != SwiotlbLayout.DEFAULT_SLOTS) {
            return this;
        }
        long asked = Addresses.alignUp(sizeBytes, SwiotlbLayout.SLOT_BYTES) >>> SwiotlbLayout.SLOT_SHIFT;
        return withSlots(Addresses.alignUp(asked, SwiotlbLayout.SET_SLOTS)).roundedForAreas();
    }

    /**
     * Notes the size that a boot could have (SWC-8).
     *
     * @param newSlots slots of the pool
     * @return this, changed by it
     */
    public SwiotlbParameter shrunk(long newSlots) {
        return withSlots(newSlots);
    }

    private static long roundUpToPowerOfTwo(long n) {
        return Long.bitCount(n) == 1 ? n : Long.highestOneBit(n) << 1;
    }
}
