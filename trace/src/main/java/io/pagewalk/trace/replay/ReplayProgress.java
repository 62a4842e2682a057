package io.pagewalk.trace.replay;

/** Hears how far a replay is, every few thousand events and at the end, on the replaying thread. */
@FunctionalInterface
public interface ReplayProgress {
    /**
     * Takes note.
     *
     * @param eventsDone events replayed
     * @param bytesRead bytes read of the trace, compressed as it is
     * @param totalBytes size of the trace, -1 when unknown
     */
    void progress(long eventsDone, long bytesRead, long totalBytes);
}
