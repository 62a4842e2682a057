package io.pagewalk.rdma.model;

import static io.pagewalk.rdma.AccessFlags.LOCAL_WRITE;
import static io.pagewalk.rdma.AccessFlags.MW_BIND;
import static io.pagewalk.rdma.AccessFlags.REMOTE_ATOMIC;
import static io.pagewalk.rdma.AccessFlags.REMOTE_READ;
import static io.pagewalk.rdma.AccessFlags.REMOTE_WRITE;

import io.pagewalk.rdma.model.Program.Area;
import io.pagewalk.rdma.model.Program.Kind;
import io.pagewalk.rdma.model.Program.Piece;
import io.pagewalk.rdma.model.Program.Place;
import io.pagewalk.rdma.model.Program.Setup;
import io.pagewalk.rdma.model.Program.Spot;
import io.pagewalk.rdma.model.Program.Step;
import io.pagewalk.rdma.model.Program.Twist;
import io.pagewalk.rdma.verbs.PostChecks;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.Tuple;

/** Random programs, mostly right, wrong in one place or the other. */
final class Programs {
    private static final int ALL = REMOTE_READ | REMOTE_WRITE | REMOTE_ATOMIC;

    private Programs() {}

    /** Programs of so many steps, none of the kinds that are left out. */
    static Arbitrary<Program> of(int steps, Set<Kind> without) {
        return Combinators.combine(
                        setups(),
                        steps(without)
                                .list()
                                .ofMinSize(1)
                                .ofMaxSize(steps)
                                .withSizeDistribution(RandomDistribution.uniform()))
                .as(Program::new);
    }

    private static Arbitrary<Setup> setups() {
        Arbitrary<Integer> access =
                Arbitraries.frequency(Tuple.of(8, ALL), Tuple.of(1, REMOTE_READ), Tuple.of(1, REMOTE_WRITE));
        return Combinators.combine(
                        areas().list().ofMinSize(3).ofMaxSize(6),
                        Arbitraries.integers().between(0, 9).map(i -> i == 1),
                        Arbitraries.of(PostChecks.class),
                        access,
                        Arbitraries.of(1024, 256, 4096),
                        Arbitraries.frequency(Tuple.of(9, 1), Tuple.of(1, 0)),
                        Arbitraries.of(0, 2, 7))
                .as(Setup::new);
    }

    /** Rights that a registration may ask for (rdma:ACC-2). */
    private static Arbitrary<Area> areas() {
        Arbitrary<Integer> access = Arbitraries.frequency(
                Tuple.of(5, LOCAL_WRITE | ALL),
                Tuple.of(4, LOCAL_WRITE | ALL | MW_BIND),
                Tuple.of(2, LOCAL_WRITE),
                Tuple.of(1, 0),
                Tuple.of(1, REMOTE_READ),
                Tuple.of(1, REMOTE_READ | MW_BIND),
                Tuple.of(1, LOCAL_WRITE | REMOTE_WRITE),
                Tuple.of(1, LOCAL_WRITE | REMOTE_ATOMIC));
        return Combinators.combine(
                        Arbitraries.integers().between(1, 3),
                        Arbitraries.of(0, 8, 0x208, 0xff8),
                        Arbitraries.of(0, 1, 8, 0x300),
                        access,
                        Arbitraries.integers().between(0, 7).map(i -> i == 1),
                        Arbitraries.of(0, 1, 0x10_0000))
                .as(Programs::area);
    }

    private static Area area(int pages, int head, int tail, int access, boolean foreign, int shift) {
        return new Area(pages, head, pages == 1 && head > 0x300 ? 0 : tail, access, foreign, shift);
    }

    private static Arbitrary<Step> steps(Set<Kind> without) {
        return Combinators.combine(
                        kinds(without),
                        Arbitraries.integers().between(0, 1),
                        places(),
                        pieces().list().ofMaxSize(4),
                        pieces().list().ofMaxSize(3),
                        Arbitraries.integers().between(0, 5).map(i -> i != 1),
                        Arbitraries.integers().between(0, Integer.MAX_VALUE))
                .as(Step::new);
    }

    private static Arbitrary<Kind> kinds(Set<Kind> without) {
        return Arbitraries.frequencyOf(
                        Tuple.of(12, Arbitraries.of(Kind.SEND, Kind.WRITE, Kind.READ)),
                        Tuple.of(7, Arbitraries.of(Kind.SEND_IMM, Kind.WRITE_IMM, Kind.FETCH_ADD, Kind.COMPARE_SWAP)),
                        Tuple.of(9, Arbitraries.of(Kind.REG_MR, Kind.BIND, Kind.LOCAL_INV, Kind.SEND_INV)),
                        Tuple.of(2, Arbitraries.of(Kind.INLINE_SEND, Kind.INLINE_WRITE)),
                        Tuple.of(2, Arbitraries.of(Kind.RECV, Kind.MAP)),
                        Tuple.of(2, Arbitraries.of(Kind.DEREG, Kind.RECONNECT, Kind.INLINE_READ, Kind.READ_INV)))
                .filter(kind -> !without.contains(kind));
    }

    private static Arbitrary<Place> places() {
        return Combinators.combine(
                        Arbitraries.integers().between(0, 99),
                        Arbitraries.integers().between(0, 23).map(i -> i != 1),
                        Arbitraries.frequency(
                                Tuple.of(90, Twist.NONE),
                                Tuple.of(1, Twist.OTHER_BYTE),
                                Tuple.of(1, Twist.OTHER_INDEX),
                                Tuple.of(1, Twist.ZERO)),
                        Arbitraries.frequency(
                                Tuple.of(30, Spot.START),
                                Tuple.of(30, Spot.INSIDE),
                                Tuple.of(30, Spot.END),
                                Tuple.of(1, Spot.ONE_PAST_END),
                                Tuple.of(1, Spot.ONE_BEFORE),
                                Tuple.of(1, Spot.TOP_OF_ALL)))
                .as(Place::new);
    }

    private static Arbitrary<Piece> pieces() {
        Arbitrary<Integer> length = Arbitraries.frequencyOf(
                Tuple.of(3, Arbitraries.of(8, 0, 1)),
                Tuple.of(3, Arbitraries.of(255, 256, 257, 1023, 1024, 1025, 4096)),
                Tuple.of(3, Arbitraries.integers().between(2, 5000)));
        return Combinators.combine(places(), length).as(Piece::new);
    }
}
