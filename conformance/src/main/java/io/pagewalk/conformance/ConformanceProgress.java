package io.pagewalk.conformance;

/** Is told how far a run is. */
@FunctionalInterface
public interface ConformanceProgress {
    /** Tells nobody. */
    ConformanceProgress NONE = (file, lines) -> {};

    /**
     * Takes word of a line that is done.
     *
     * @param file the file
     * @param lines lines done in all files
     */
    void progress(String file, long lines);
}
