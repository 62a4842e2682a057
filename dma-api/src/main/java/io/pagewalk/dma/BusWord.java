package io.pagewalk.dma;

/** A caller-owned place for the eight bytes that a bus operation brings back; reuse it. Not thread-safe. */
public final class BusWord {
    private long value;

    /** Makes a word of value 0. */
    public BusWord() {}

    /**
     * The word.
     *
     * @return what the last operation stored
     */
    public long value() {
        return value;
    }

    void set(long newValue) {
        value = newValue;
    }
}
