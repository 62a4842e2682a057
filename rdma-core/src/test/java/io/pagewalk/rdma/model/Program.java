package io.pagewalk.rdma.model;

import io.pagewalk.rdma.verbs.PostChecks;
import java.util.List;

/**
 * A random program of work requests. Numbers in it are choices: what they mean depends on what there is when their step
 * comes, so that programs stay meaningful when they shrink.
 *
 * @param setup what there is at the beginning
 * @param steps what happens
 */
record Program(Setup setup, List<Step> steps) {
    /** What a step does. */
    enum Kind {
        RECV,
        SEND,
        SEND_IMM,
        SEND_INV,
        WRITE,
        WRITE_IMM,
        READ,
        FETCH_ADD,
        COMPARE_SWAP,
        INLINE_SEND,
        INLINE_WRITE,
        INLINE_READ,
        READ_INV,
        MAP,
        REG_MR,
        LOCAL_INV,
        BIND,
        DEREG,
        RECONNECT
    }

    /** How a key differs from the right one. */
    enum Twist {
        NONE,
        OTHER_BYTE,
        OTHER_INDEX,
        ZERO
    }

    /** Where something begins or ends relative to its region. */
    enum Spot {
        START,
        INSIDE,
        END,
        ONE_PAST_END,
        ONE_BEFORE,
        TOP_OF_ALL
    }

    /**
     * A region that is registered at the beginning.
     *
     * @param pages how many it touches
     * @param headBytes how far its start lies in the first page
     * @param tailBytes how far its end lies before the end of the last page
     * @param access its rights
     * @param foreign whether it is of the other domain
     * @param shiftPages how far its addresses on the wire are from those of the process
     */
    record Area(int pages, int headBytes, int tailBytes, int access, boolean foreign, int shiftPages) {}

    /**
     * What there is at the beginning.
     *
     * @param areas regions of the process
     * @param rightForeign whether the right end is of the other domain
     * @param checks who posts
     * @param access what the peer may do
     * @param pathMtu most bytes in a packet
     * @param maxDestRdAtomic how many reads are answered
     * @param rnrRetry how often a send that finds no receive comes again
     */
    record Setup(
            List<Area> areas,
            boolean rightForeign,
            PostChecks checks,
            int access,
            int pathMtu,
            int maxDestRdAtomic,
            int rnrRetry) {}

    /**
     * A place in memory, by key.
     *
     * @param pick which region
     * @param fitting whether the pick is among those that allow what is wanted
     * @param twist what is wrong with the key
     * @param spot where in the region
     */
    record Place(int pick, boolean fitting, Twist twist, Spot spot) {}

    /**
     * A segment of a request.
     *
     * @param place where
     * @param length how long
     */
    record Piece(Place place, int length) {}

    /**
     * One step.
     *
     * @param kind what
     * @param side who does it
     * @param far the place on the other side
     * @param near segments on this side
     * @param sink segments of a receive that is posted on the other side first; none is posted when there are none
     * @param room whether the receive is made long enough
     * @param value anything else
     */
    record Step(Kind kind, int side, Place far, List<Piece> near, List<Piece> sink, boolean room, int value) {}
}
