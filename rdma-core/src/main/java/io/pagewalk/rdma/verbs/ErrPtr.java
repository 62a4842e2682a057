package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import org.jspecify.annotations.Nullable;

/**
 * What calls of the kernel return that make an object: the object, or an error number in its place. Immutable.
 *
 * @param <T> what is made
 */
public final class ErrPtr<T> {
    private final @Nullable T value;
    private final int error;

    private ErrPtr(@Nullable T value, int error) {
        this.value = value;
        this.error = error;
    }

    /**
     * An object.
     *
     * @param <T> its type
     * @param value the object
     * @return what holds it
     */
    public static <T> ErrPtr<T> of(T value) {
        return new ErrPtr<>(value, 0);
    }

    /**
     * An error in an object's place, {@code ERR_PTR}.
     *
     * @param <T> the type of the object that there is not
     * @param error a negated errno
     * @return what holds it
     * @throws IllegalArgumentException when the number is not negative
     */
    public static <T> ErrPtr<T> err(int error) {
        if (error >= 0) {
            throw new IllegalArgumentException(error + " is no negated errno");
        }
        return new ErrPtr<>(null, error);
    }

    /**
     * {@code IS_ERR}.
     *
     * @return whether there is no object
     */
    public boolean isErr() {
        return value == null;
    }

    /**
     * {@code PTR_ERR_OR_ZERO}.
     *
     * @return 0, or the negated errno
     */
    public int error() {
        return error;
    }

    /**
     * The object.
     *
     * @return what was made
     * @throws IllegalStateException when nothing was; the message names the errno
     */
    public T value() {
        if (value == null) {
            throw new IllegalStateException("nothing was made: " + Errno.name(-error));
        }
        return value;
    }

    @Override
    public String toString() {
        return value == null ? "-" + Errno.name(-error) : value.toString();
    }
}
