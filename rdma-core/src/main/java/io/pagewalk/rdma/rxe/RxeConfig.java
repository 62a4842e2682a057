package io.pagewalk.rdma.rxe;

import java.util.Objects;

/**
 * How an rxe device of the emulator may differ from the kernel's, to show bugs that rxe hides. Immutable;
 * {@link #kernel} differs in nothing, the other methods change one thing.
 *
 * @param distinctKeys whether a region's rkey is another number than its lkey, as on most adapters (case H7)
 * @param idealStatuses whether a request that fails on its own side completes with its cause, where the kernel of 6.12
 *     says WR_FLUSH_ERR (rdma:DP-10)
 * @param deregFailsOnPostedReceives whether a region cannot be destroyed while a posted receive names it, which is in
 *     dispute; rxe lets it go and the receive fails later (case H20)
 * @param maxMr how many regions there may be; 0 for the kernel's number
 * @param maxMrSize longest region in bytes, unsigned; 0 for the kernel's, which is no limit (case H1)
 * @param seed from which key bytes are drawn
 * @param keyListener told of keys
 */
public record RxeConfig(
        boolean distinctKeys,
        boolean idealStatuses,
        boolean deregFailsOnPostedReceives,
        int maxMr,
        long maxMrSize,
        long seed,
        KeyListener keyListener) {
    /** Refuses what cannot be. */
    public RxeConfig {
        Objects.requireNonNull(keyListener, "keyListener");
        if (maxMr < 0) {
            throw new IllegalArgumentException(maxMr + " regions");
        }
    }

    /**
     * As the kernel's.
     *
     * @return nothing different
     */
    public static RxeConfig kernel() {
        return new RxeConfig(false, false, false, 0, 0, 1, new KeyListener() {});
    }

    /**
     * With an rkey that is not the lkey.
     *
     * @return the configuration
     */
    public RxeConfig withDistinctKeys() {
        return new RxeConfig(true, idealStatuses, deregFailsOnPostedReceives, maxMr, maxMrSize, seed, keyListener);
    }

    /**
     * With the cause in completions.
     *
     * @return the configuration
     */
    public RxeConfig withIdealStatuses() {
        return new RxeConfig(distinctKeys, true, deregFailsOnPostedReceives, maxMr, maxMrSize, seed, keyListener);
    }

    /**
     * With regions that stay while receives name them.
     *
     * @return the configuration
     */
    public RxeConfig withDeregFailingOnPostedReceives() {
        return new RxeConfig(distinctKeys, idealStatuses, true, maxMr, maxMrSize, seed, keyListener);
    }

    /**
     * With fewer or shorter regions.
     *
     * @param newMaxMr how many there may be; 0 for the kernel's number
     * @param newMaxMrSize how long, in bytes; 0 for no limit
     * @return the configuration
     */
    public RxeConfig withLimits(int newMaxMr, long newMaxMrSize) {
        return new RxeConfig(
                distinctKeys, idealStatuses, deregFailsOnPostedReceives, newMaxMr, newMaxMrSize, seed, keyListener);
    }

    /**
     * With other key bytes.
     *
     * @param newSeed from which they are drawn
     * @return the configuration
     */
    public RxeConfig withSeed(long newSeed) {
        return new RxeConfig(
                distinctKeys, idealStatuses, deregFailsOnPostedReceives, maxMr, maxMrSize, newSeed, keyListener);
    }

    /**
     * With somebody who is told of keys.
     *
     * @param listener who
     * @return the configuration
     */
    public RxeConfig withKeyListener(KeyListener listener) {
        return new RxeConfig(distinctKeys, idealStatuses, deregFailsOnPostedReceives, maxMr, maxMrSize, seed, listener);
    }
}
