package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceHeader;

/**
 * Who writes lines one after the other: a task, or an interrupt of some level on a CPU. Lines of one call are all of
 * one, and no other call of it comes in between.
 *
 * @param pid the task, or the task that is interrupted
 * @param level how deep the interrupt is: 0 for the task itself
 * @param cpu the CPU of an interrupt or of an idle task, else {@link #ANY_CPU}, since tasks move
 */
record TaskContext(int pid, int level, int cpu) {
    private static final int ANY_CPU = -1;
    private static final int CONTEXT_COLUMN = 2;
    private static final String LEVELS = ".shHzZ";

    static TaskContext of(TraceHeader header) {
        int level = level(header.flags());
        boolean moves = level == 0 && header.pid() != 0;
        return new TaskContext(header.pid(), level, moves ? ANY_CPU : header.cpu());
    }

    /** Task, softirq, hardirq, hardirq in a softirq, NMI; formats without flags know only tasks. */
    private static int level(String flags) {
        return flags.length() > CONTEXT_COLUMN ? Math.max(0, LEVELS.indexOf(flags.charAt(CONTEXT_COLUMN))) : 0;
    }

    /** Whether this stopped that one on a CPU to run first. */
    boolean interrupts(TaskContext that) {
        return pid == that.pid && level > that.level;
    }
}
