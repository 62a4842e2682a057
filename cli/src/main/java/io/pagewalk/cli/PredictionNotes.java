package io.pagewalk.cli;

import io.pagewalk.trace.predict.Miss;
import io.pagewalk.trace.predict.Move;
import io.pagewalk.trace.predict.PredictionListener;
import java.util.ArrayList;
import java.util.List;

/** Keeps what a prediction tells on its way: every miss and move, up to a number that no one reads through. */
final class PredictionNotes implements PredictionListener {
    private static final int MOST = 100_000;

    private final List<Miss> misses = new ArrayList<>();
    private final List<Move> moves = new ArrayList<>();
    private long missesLeftOut;
    private long movesLeftOut;

    @Override
    public void notPredicted(Miss miss) {
        if (misses.size() < MOST) {
            misses.add(miss);
        } else {
            missesLeftOut++;
        }
    }

    @Override
    public void moved(Move move) {
        if (moves.size() < MOST) {
            moves.add(move);
        } else {
            movesLeftOut++;
        }
    }

    List<Miss> misses() {
        return misses;
    }

    List<Move> moves() {
        return moves;
    }

    /** Misses beyond those that are kept. */
    long missesLeftOut() {
        return missesLeftOut;
    }

    /** Moves beyond those that are kept. */
    long movesLeftOut() {
        return movesLeftOut;
    }
}
