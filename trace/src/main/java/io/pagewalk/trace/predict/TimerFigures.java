package io.pagewalk.trace.predict;

/**
 * How the flush queues' timers of a prediction met the recorded ones.
 *
 * @param timers timers in the record
 * @param starts recorded starts
 * @param startsMet starts at which the machine had armed the same timer
 * @param expiries recorded expiries
 * @param expiriesMet expiries at which the machine's timer was armed
 */
public record TimerFigures(int timers, long starts, long startsMet, long expiries, long expiriesMet) {}
