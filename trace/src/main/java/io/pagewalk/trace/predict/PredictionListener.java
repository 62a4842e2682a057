package io.pagewalk.trace.predict;

/** Hears of each address that did not come out, and of each call that was moved, while a trace is read. */
public interface PredictionListener {
    /**
     * Takes note of an address that did not come out.
     *
     * @param miss which, and what came out instead
     */
    void notPredicted(Miss miss);

    /**
     * Takes note of a call that was made earlier than its line stands.
     *
     * @param move which, and where
     */
    void moved(Move move);
}
