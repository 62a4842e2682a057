package io.pagewalk.rdma.qp;

/** A caller-owned place for the eight bytes that an atomic brings back; reuse it. Not thread-safe. */
public final class AtomicWord {
    private long value;

    /** Makes a word of value 0. */
    public AtomicWord() {}

    /**
     * The word.
     *
     * @return what the last atomic found
     */
    public long value() {
        return value;
    }

    /**
     * Stores what an atomic found. For a provider.
     *
     * @param found the value before
     */
    public void set(long found) {
        value = found;
    }
}
