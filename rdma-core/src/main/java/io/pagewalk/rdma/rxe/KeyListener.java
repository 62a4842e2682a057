package io.pagewalk.rdma.rxe;

/**
 * Told when keys come, change and go. A key that was given to somebody before and comes into use again is told of as
 * such: whoever still has it reaches what it names now. All methods do nothing by default. Calls come on the caller's
 * thread, with locks held: a listener takes notes, and asks the device nothing.
 */
public interface KeyListener {
    /**
     * A region or a window got its first key.
     *
     * @param index the number that the key begins with
     * @param key the key, the local one of a region
     * @param indexSeenBefore whether an object that is gone had the number
     */
    default void keyMade(int index, int key, boolean indexSeenBefore) {}

    /**
     * A region or a window got another key in place of its old one.
     *
     * @param index the number that both begin with
     * @param oldKey the key that no longer leads there
     * @param newKey the key that does
     * @param keySeenBefore whether the same object had the new key before: after 256 rotations it must have
     */
    default void keyRotated(int index, int oldKey, int newKey, boolean keySeenBefore) {}

    /**
     * A region or a window is gone.
     *
     * @param index its number
     * @param key its last key
     */
    default void keyGone(int index, int key) {}
}
