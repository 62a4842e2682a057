package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The handles of one context: one number space for objects of all kinds (rdma:UV-9). A new object gets the lowest free
 * number. Not thread-safe.
 */
final class Handles {
    private final List<@Nullable Object> objects = new ArrayList<>();
    private final BitSet used = new BitSet();
    private boolean closed;

    /** Takes an object in; the handle, or the error in its place. */
    int add(ErrPtr<? extends Object> made) {
        if (made.isErr()) {
            return made.error();
        }
        int handle = used.nextClearBit(0);
        used.set(handle);
        if (handle == objects.size()) {
            objects.add(made.value());
        } else {
            objects.set(handle, made.value());
        }
        return handle;
    }

    <T> @Nullable T find(int handle, Class<T> type) {
        Object found = object(handle);
        return type.isInstance(found) ? type.cast(found) : null;
    }

    private @Nullable Object object(int handle) {
        return handle >= 0 && handle < objects.size() ? objects.get(handle) : null;
    }

    /** Why {@link #find} found nothing. */
    int missing(int handle) {
        if (closed) {
            return -Errno.EBADF;
        }
        return object(handle) == null ? -Errno.ENOENT : -Errno.EINVAL;
    }

    /** Frees a handle when its object was destroyed without an error; hands that through. */
    int removeIf(int handle, int error) {
        if (error == 0) {
            objects.set(handle, null);
            used.clear(handle);
        }
        return error;
    }

    void replace(int handle, Object object) {
        objects.set(handle, object);
    }

    int size() {
        return used.cardinality();
    }

    boolean isClosed() {
        return closed;
    }

    /** Destroys everything, the latest first, in rounds: what others still use goes in a later one. */
    void destroyAll(ToIntFunction<Object> destroyer) {
        closed = true;
        int before;
        do {
            before = size();
            for (int handle = used.length() - 1; handle >= 0; handle = used.previousSetBit(handle - 1)) {
                Object object = objects.get(handle);
                if (object != null) {
                    removeIf(handle, destroyer.applyAsInt(object));
                }
            }
        } while (size() < before);
    }
}
