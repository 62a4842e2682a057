package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceSummary;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How many of a trace's addresses came out.
 *
 * @param traceName name of the trace
 * @param summary what was read of it
 * @param machine the machine that recorded it
 * @param judgement what the figures say
 * @param inLineOrder with the calls in the order of the trace's lines
 * @param overlappedMoved with the calls that an interrupt overlapped moved to where they took their address, null where
 *     this makes no difference
 * @param moves how many calls were moved
 * @param timers how the flush queues' timers met the recorded ones, null without a record
 * @param notJudged what was not judged, and how often
 */
public record PredictionResult(
        String traceName,
        TraceSummary summary,
        RecordedMachine machine,
        Judgement judgement,
        Figures inLineOrder,
        @Nullable Figures overlappedMoved,
        long moves,
        @Nullable TimerFigures timers,
        Map<NotJudged, Long> notJudged) {

    /** What counts as right. */
    public enum Judgement {
        /** The address that came out is the recorded one. */
        PREDICTED,
        /**
         * The recorded address is one that could have been given out: aligned, within limits, overlapping none, and not
         * reused before a flush could have come. All that can be said of a flush queue whose timer was not recorded.
         */
        VALID
    }

    /**
     * The figures that decide: those with overlapped calls moved, where there are such.
     *
     * @return the figures
     */
    public Figures deciding() {
        return overlappedMoved == null ? inLineOrder : overlappedMoved;
    }

    /**
     * Whether every address that was judged came out.
     *
     * @return true when none was missed
     */
    public boolean ok() {
        return deciding().isComplete();
    }
}
