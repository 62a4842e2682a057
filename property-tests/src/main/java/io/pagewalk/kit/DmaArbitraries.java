package io.pagewalk.kit;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.Tuple;
import net.jqwik.api.domains.DomainContextBase;

/**
 * Arbitrary values of the DMA world, biased to where things break: edges of pages, slots and 256 KiB sets, the ends of
 * RAM, the line at 4 GiB, sizes one off a limit. Everything shrinks towards small, early and plain.
 *
 * <p>As a jqwik domain it provides {@link Buffer}, {@link Segments}, {@link DeviceConfig}, {@link DmaProgram},
 * {@link Part} and {@link DmaDirection} (without NONE) by type; {@link Law} brings it in.
 */
public final class DmaArbitraries extends DomainContextBase {
    /** Bytes of a bounce slot (dma-core:TYP-9). */
    static final int SLOT_BYTES = 2048;
    /** Bytes of a set of 128 slots, the most that one bounce may hold (dma-core:TYP-9). */
    static final int SET_BYTES = 256 << 10;

    private static final int PAGE = (int) Addresses.PAGE_SIZE;
    private static final long FOUR_GIB = 1L << 32;
    private static final int MOST_SEGMENTS = 12;

    /** Used by jqwik, which makes an instance for each property. */
    public DmaArbitraries() {}

    /**
     * The three valid directions.
     *
     * @return without NONE
     */
    @Provide
    public Arbitrary<DmaDirection> directions() {
        return Arbitraries.of(DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE, DmaDirection.BIDIRECTIONAL);
    }

    /**
     * CPUs of a {@link SmallWorld}.
     *
     * @return numbers from 0
     */
    public static Arbitrary<Integer> cpus() {
        return Arbitraries.integers().between(0, SmallWorld.CPUS - 1);
    }

    /**
     * Sizes of buffers: mostly small, often one off a slot, a page or 64 KiB, now and then around the 256 KiB limit of
     * a bounce.
     *
     * @return bytes, 1 to 256 KiB and a slot
     */
    public static Arbitrary<Integer> sizes() {
        return Arbitraries.frequencyOf(
                Tuple.of(6, Arbitraries.integers().between(1, 3 * PAGE)),
                Tuple.of(6, around(SLOT_BYTES, PAGE, 2 * PAGE)),
                Tuple.of(2, Arbitraries.of(1, 2, 7, 8, 64)),
                Tuple.of(1, around(16 * PAGE)),
                Tuple.of(1, around(SET_BYTES)),
                Tuple.of(1, Arbitraries.just(SET_BYTES + SLOT_BYTES)));
    }

    private static Arbitrary<Integer> around(Integer... sizes) {
        return Combinators.combine(Arbitraries.of(sizes), Arbitraries.of(0, -1, 1))
                .as(Integer::sum);
    }

    /**
     * Buffers in the arenas of a {@link SmallWorld}.
     *
     * @return at any alignment, with an edge at, in or just off them
     */
    @Provide
    public Arbitrary<Buffer> buffers() {
        return Combinators.combine(anchors(), sizes(), Arbitraries.of(Placement.class), offsets())
                .as((anchor, size, placement, offset) -> inArena(placement.first(anchor, size) + offset, size));
    }

    /** Where a buffer lies in respect of an edge. */
    private enum Placement {
        STARTS_THERE,
        ENDS_THERE,
        STRADDLES;

        long first(long anchor, int sizeBytes) {
            return switch (this) {
                case STARTS_THERE -> anchor;
                case ENDS_THERE -> anchor - sizeBytes;
                case STRADDLES -> anchor - sizeBytes / 2;
            };
        }
    }

    private static Arbitrary<Long> anchors() {
        PhysRange upper = SmallWorld.ARENAS.get(1);
        return Arbitraries.frequencyOf(
                Tuple.of(4, gridLines()), Tuple.of(1, Arbitraries.of(FOUR_GIB, upper.last() + 1, upper.first())));
    }

    private static Arbitrary<Long> gridLines() {
        return Combinators.combine(
                        Arbitraries.of(SmallWorld.ARENAS),
                        Arbitraries.of(PAGE, SLOT_BYTES, SET_BYTES, 1 << 20),
                        Arbitraries.integers().between(0, 1 << 10))
                .as((arena, step, number) -> arena.first() + Math.floorMod((long) number * step, arena.sizeBytes()));
    }

    private static Arbitrary<Integer> offsets() {
        return Arbitraries.frequencyOf(
                Tuple.of(4, Arbitraries.just(0)),
                Tuple.of(2, Arbitraries.of(1, -1, 8, 64)),
                Tuple.of(2, Arbitraries.integers().between(0, PAGE - 1)));
    }

    /** The buffer, moved as little as it takes to lie in the arena that it starts in or is nearest to. */
    private static Buffer inArena(long first, int sizeBytes) {
        PhysRange low = SmallWorld.ARENAS.get(0);
        PhysRange arena = Addresses.lessOrEqual(first, low.last()) ? low : SmallWorld.ARENAS.get(1);
        long highest = arena.last() - sizeBytes + 1;
        return new Buffer(Addresses.min(Addresses.max(first, arena.first()), highest), sizeBytes);
    }

    /**
     * Scatterlists whose entries share no byte: adjacent or apart, whole pages that may merge or odd pieces that may
     * not, in any order.
     *
     * @return lists of 1 to 12 entries
     */
    @Provide
    public Arbitrary<Segments> segments() {
        Arbitrary<Integer> lengths = Arbitraries.frequencyOf(
                Tuple.of(3, Arbitraries.of(PAGE, 2 * PAGE, 4 * PAGE)),
                Tuple.of(3, Arbitraries.integers().between(1, 2 * PAGE)),
                Tuple.of(1, around(SLOT_BYTES, PAGE, 16 * PAGE)));
        Arbitrary<Piece> pieces =
                Combinators.combine(Arbitraries.of(Gap.class), lengths).as(Piece::new);
        return Combinators.combine(
                        Arbitraries.of(SmallWorld.ARENAS),
                        offsets(),
                        lists(pieces, MOST_SEGMENTS),
                        Arbitraries.frequency(Tuple.of(2, 0), Tuple.of(1, 1), Tuple.of(1, 2)))
                .as((arena, offset, list, order) -> laidOut(arena.first() + Math.abs(offset), list, order));
    }

    private static <T> Arbitrary<List<T>> lists(Arbitrary<T> elements, int mostElements) {
        return elements.list().ofMinSize(1).ofMaxSize(mostElements).withSizeDistribution(RandomDistribution.uniform());
    }

    /** How far an entry lies behind the one before. */
    private enum Gap {
        NEXT_PAGE,
        ADJACENT,
        SOMEWHERE,
        FAR;

        long from(long end) {
            return switch (this) {
                case NEXT_PAGE -> Addresses.alignUp(end, PAGE);
                case ADJACENT -> end;
                case SOMEWHERE -> end + 0x321;
                case FAR -> Addresses.alignUp(end, PAGE) + 5L * PAGE;
            };
        }
    }

    private record Piece(Gap gap, int sizeBytes) {}

    private static Segments laidOut(long first, List<Piece> pieces, int order) {
        List<Buffer> buffers = new ArrayList<>();
        long end = first;
        for (Piece piece : pieces) {
            Buffer buffer = new Buffer(piece.gap().from(end), piece.sizeBytes());
            buffers.add(buffer);
            end = buffer.last() + 1;
        }
        if (order != 0) {
            Collections.shuffle(buffers, new Random(order));
        }
        return new Segments(buffers);
    }

    /**
     * Devices: masks from 24 to 64 bits, alignments that a bounce keeps, limits of segments, trusted or not, PCI or
     * not, snooping or not.
     *
     * @return configurations named {@code kit}
     */
    @Provide
    public Arbitrary<DeviceConfig> devices() {
        return devices("kit");
    }

    /**
     * Devices as {@link #devices()} has them, with as many address lines as their masks have bits: an address beyond
     * its mask faults on the wires.
     *
     * @param name of all of them
     * @return configurations of that name
     */
    public static Arbitrary<DeviceConfig> devices(String name) {
        Arbitrary<Integer> maskBits = Arbitraries.frequency(
                Tuple.of(6, 64), Tuple.of(2, 48), Tuple.of(3, 32), Tuple.of(1, 36), Tuple.of(1, 30), Tuple.of(1, 24));
        Arbitrary<Integer> minAlign =
                Arbitraries.frequency(Tuple.of(6, 0), Tuple.of(3, 0xfff), Tuple.of(1, 0x1ff), Tuple.of(1, 0x7ff));
        Arbitrary<Integer> maxSegment =
                Arbitraries.frequency(Tuple.of(5, 0), Tuple.of(1, PAGE), Tuple.of(1, 4 * PAGE), Tuple.of(1, 1 << 20));
        Arbitrary<Long> boundary = Arbitraries.frequency(
                Tuple.of(5, 0xffff_ffffL), Tuple.of(1, 0xffffL), Tuple.of(1, 0xf_ffffL), Tuple.of(1, 0L));
        Arbitrary<Boolean> trusted = Arbitraries.frequency(Tuple.of(5, true), Tuple.of(1, false));
        Arbitrary<Boolean> pci = Arbitraries.frequency(Tuple.of(4, true), Tuple.of(1, false));
        Arbitrary<Boolean> coherent = Arbitraries.of(true, false); // all are where the kernel has no hooks
        return Combinators.combine(maskBits, minAlign, maxSegment, boundary, trusted, pci, coherent)
                .as((bits, align, segment, limit, trust, onPci, snoops) -> DeviceConfig.named(name)
                        .withMask(Addresses.bitMask(bits))
                        .withAddressBits(bits)
                        .withMinAlignMask(align)
                        .withSegments(segment, limit)
                        .withTrusted(trust)
                        .withCoherent(snoops)
                        .withPci(onPci));
    }

    /**
     * Parts of a buffer, whatever its size.
     *
     * @return from a single byte to all of it
     */
    @Provide
    public Arbitrary<Part> parts() {
        Arbitrary<Integer> shares = Arbitraries.frequencyOf(
                Tuple.of(1, Arbitraries.just(0)),
                Tuple.of(1, Arbitraries.just(Part.WHOLE)),
                Tuple.of(4, Arbitraries.integers().between(0, Part.WHOLE)));
        return Combinators.combine(shares, shares).as(Part::new);
    }

    /**
     * Whole programs of calls from two drivers on two CPUs, with what their devices do in between.
     *
     * @return programs of up to 40 steps
     */
    @Provide
    public Arbitrary<DmaProgram> programs() {
        return Combinators.combine(devices("kit0"), devices("kit1"), lists(steps(), 40))
                .as(DmaProgram::new);
    }

    private Arbitrary<DmaStep> steps() {
        Arbitrary<Integer> which = Arbitraries.integers().between(0, 15);
        Arbitrary<Boolean> second = Arbitraries.of(false, true);
        return Arbitraries.frequencyOf(
                Tuple.of(
                        6,
                        Combinators.combine(second, cpus(), buffers(), directions())
                                .as(DmaStep.MapPage::new)),
                Tuple.of(
                        3,
                        Combinators.combine(second, cpus(), segments(), directions())
                                .as(DmaStep.MapSg::new)),
                Tuple.of(5, Combinators.combine(which, cpus()).as(DmaStep.Unmap::new)),
                Tuple.of(3, Combinators.combine(which, parts()).as(DmaStep.CpuWrites::new)),
                Tuple.of(3, Combinators.combine(which, parts()).as(DmaStep.DeviceWrites::new)),
                Tuple.of(1, Combinators.combine(second, cpus(), sizes()).as(DmaStep.Alloc::new)),
                Tuple.of(1, which.map(DmaStep.Free::new)),
                Tuple.of(1, Arbitraries.of(1_000L, 10_000_000L, 200_000_000L).map(DmaStep.Advance::new)));
    }
}
