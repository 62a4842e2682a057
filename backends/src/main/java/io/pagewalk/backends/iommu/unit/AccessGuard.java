package io.pagewalk.backends.iommu.unit;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Lets an invalidation wait for the accesses that began before it.
 *
 * <p>Assumptions:
 *
 * <ol>
 *   <li>every {@link #begin} is followed by one {@link #end} with its token, on any thread;
 *   <li>one thread at a time drains, and not from inside an access of its own.
 * </ol>
 *
 * <p>Guarantees:
 *
 * <ol>
 *   <li>{@code begin} and {@code end} are wait-free and allocate nothing;
 *   <li>when {@link #drain} returns, every access whose {@code begin} returned before the call has ended;
 *   <li>an access that {@code drain} did not wait for sees everything that was written before the call;
 *   <li>{@code drain} never waits for accesses that begin after it, however many there are.
 * </ol>
 */
final class AccessGuard {

    /*
     * A writer-reader phaser in several stripes. A stripe counts begun accesses in one word and ended ones in two, one for each
     * phase; the sign of the begun count tells the phase, so that counting in and learning the phase is one atomic step. To
     * drain a stripe is to exchange the begun count for the start of the other phase, and to wait until as many accesses
     * have ended in the old phase as had begun.
     *
     * An idle stripe, whose ends equal its begins, needs no exchange: nobody is inside. The ends must be read first, as both only
     * grow. This is what makes an invalidation cheap when no device is at work.
     *
     * The atomic add of begin stands before every read of the access, and the fence of drain stands after every write that the
     * access has to see: either drain sees the access, or the access sees the writes.
     */

    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

    /** Words between stripes: 128 bytes, as neighbouring lines are fetched in pairs. */
    private static final int STRIDE = 16;

    private static final int BEGUN = 0;
    private static final int ENDED_EVEN = 1;
    private static final int ENDED_ODD = 2;
    private static final long ODD_START = Long.MIN_VALUE;
    private static final int SPINS = 100;

    private final int stripes;
    private final long[] words;
    private final boolean[] odd;

    /**
     * Makes a guard.
     *
     * @param stripes a power of two; threads of different stripes do not disturb each other
     */
    AccessGuard(int stripes) {
        this.stripes = stripes;
        this.words = new long[(stripes + 1) * STRIDE];
        this.odd = new boolean[stripes];
    }

    /** Counts an access in. */
    long begin() {
        int stripe = (int) Thread.currentThread().getId() & (stripes - 1);
        long begun = (long) WORD.getAndAdd(words, at(stripe, BEGUN), 1L);
        return begun < 0 ? stripe | ODD_START : stripe;
    }

    /** Counts an access out. */
    void end(long token) {
        int word = token < 0 ? ENDED_ODD : ENDED_EVEN;
        WORD.getAndAdd(words, at((int) token, word), 1L);
    }

    /** Waits for the accesses that have begun. */
    void drain() {
        VarHandle.fullFence();
        for (int stripe = 0; stripe < stripes; stripe++) {
            if (!isIdle(stripe)) {
                drainBusy(stripe);
            }
        }
    }

    private boolean isIdle(int stripe) {
        long ended = (long) WORD.getAcquire(words, at(stripe, endedWord(odd[stripe])));
        return ended == (long) WORD.getAcquire(words, at(stripe, BEGUN));
    }

    private void drainBusy(int stripe) {
        boolean oldPhase = odd[stripe];
        long start = oldPhase ? 0 : ODD_START;
        WORD.setVolatile(words, at(stripe, endedWord(!oldPhase)), start);
        odd[stripe] = !oldPhase;
        long begun = (long) WORD.getAndSet(words, at(stripe, BEGUN), start);
        awaitEnds(at(stripe, endedWord(oldPhase)), begun);
    }

    @SuppressWarnings("ThreadPriorityCheck") // a hint only: no order depends on it
    private void awaitEnds(int word, long begun) {
        int spins = 0;
        while ((long) WORD.getAcquire(words, word) != begun) {
            if (++spins < SPINS) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
    }

    /** How many accesses are inside; exact only while none begins or ends. */
    long inFlight() {
        long inside = 0;
        for (int stripe = 0; stripe < stripes; stripe++) {
            long ended = (long) WORD.getAcquire(words, at(stripe, endedWord(odd[stripe])));
            inside += (long) WORD.getAcquire(words, at(stripe, BEGUN)) - ended;
        }
        return inside;
    }

    private static int endedWord(boolean oddPhase) {
        return oddPhase ? ENDED_ODD : ENDED_EVEN;
    }

    /** The first stripe's distance from the array's header keeps it off other objects' lines. */
    private static int at(int stripe, int word) {
        return (stripe + 1) * STRIDE + word - STRIDE / 2;
    }
}
