package io.pagewalk.rdma.verbs;

import io.pagewalk.dma.Errno;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The handles of one context: one number space for objects of all kinds (rdma:UV-9). A new object gets the lowest free
 * number. Not thread-safe.
 */
final class Handles {
    private final TreeMap<Integer, Object> objects = new TreeMap<>();
    private int lowestFree;
    private boolean closed;

    /** Takes an object in; the handle, or the error in its place. */
    int add(ErrPtr<? extends Object> made) {
        if (made.isErr()) {
            return made.error();
        }
        int handle = lowestFree;
        objects.put(handle, made.value());
        do {
            lowestFree++;
        } while (objects.containsKey(lowestFree));
        return handle;
    }

    <T> @Nullable T find(int handle, Class<T> type) {
        Object found = objects.get(handle);
        return type.isInstance(found) ? type.cast(found) : null;
    }

    /** Why {@link #find} found nothing. */
    int missing(int handle) {
        if (closed) {
            return -Errno.EBADF;
        }
        return objects.containsKey(handle) ? -Errno.EINVAL : -Errno.ENOENT;
    }

    /** Frees a handle when its object was destroyed without an error; hands that through. */
    int removeIf(int handle, int error) {
        if (error == 0) {
            objects.remove(handle);
            lowestFree = Math.min(lowestFree, handle);
        }
        return error;
    }

    void replace(int handle, Object object) {
        objects.put(handle, object);
    }

    int size() {
        return objects.size();
    }

    boolean isClosed() {
        return closed;
    }

    /** Destroys everything, in rounds: what others still use goes in a later one. */
    void destroyAll(ToIntFunction<Object> destroyer) {
        closed = true;
        int before;
        do {
            before = objects.size();
            List<Integer> latestFirst = new ArrayList<>(objects.descendingKeySet());
            for (int handle : latestFirst) {
                Object object = objects.get(handle);
                if (object != null) {
                    removeIf(handle, destroyer.applyAsInt(object));
                }
            }
        } while (objects.size() < before);
    }
}
