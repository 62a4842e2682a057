package io.pagewalk.backends.lock;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A lock that spins for a moment and then yields, for sections of tens of nanoseconds. Not reentrant; nothing tells who
 * holds it.
 *
 * <p>Assumptions: sections are short, never block, and never take the same lock again. Guarantees: one holder at a
 * time; what a holder wrote is seen by the next; locking allocates nothing; a holder that lost its CPU does not make
 * the others burn theirs.
 */
public final class SpinLock {
    private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(int[].class);
    private static final int FREE = 0;
    private static final int HELD = 1;
    private static final int SPINS_BEFORE_YIELD = 100;

    /**
     * The lock's word stands 128 bytes from either end, so that no neighbour shares its cache line or the pair of it.
     */
    private static final int AT = 32;

    private final int[] words = new int[2 * AT];

    /** Makes a free lock. */
    public SpinLock() {}

    /** Waits for the lock and takes it. */
    public void lock() {
        if (!WORD.compareAndSet(words, AT, FREE, HELD)) {
            lockContended();
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // a hint only: no order depends on it
    private void lockContended() {
        int spins = 0;
        while ((int) WORD.getOpaque(words, AT) != FREE || !WORD.weakCompareAndSetAcquire(words, AT, FREE, HELD)) {
            if (spins < SPINS_BEFORE_YIELD) {
                spins++;
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
    }

    /**
     * Takes the lock if it is free.
     *
     * @return whether the caller holds it now
     */
    public boolean tryLock() {
        return WORD.compareAndSet(words, AT, FREE, HELD);
    }

    /** Gives the lock back; only its holder may. */
    public void unlock() {
        WORD.setRelease(words, AT, FREE);
    }

    /**
     * Whether somebody holds it.
     *
     * @return true when it is held
     */
    public boolean isLocked() {
        return (int) WORD.getAcquire(words, AT) == HELD;
    }
}
