package io.pagewalk.dma.debug;

import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The hash of live records.
 *
 * <p>Implements dma-core:DBG-3 to DBG-6. Not thread-safe.
 */
final class RecordTable {
    /*
     * The hash shows: a record that a call is about is looked for in one bucket only, or, for a sync, in buckets downwards from
     * that of the synced address, each judged by itself. Among several records at one place the one that agrees in size, type,
     * direction and count wins; without such a one a single record is taken as it is, and several are no match at all, which is
     * reported as if there were none.
     */
    static final int BUCKETS = 16384;
    private static final int SHIFT = 13;

    private final @Nullable List<DebugRecord>[] buckets = newBuckets();
    private int size;

    @SuppressWarnings({"unchecked", "rawtypes"}) // there are no generic arrays
    private static @Nullable List<DebugRecord>[] newBuckets() {
        return new List[BUCKETS];
    }

    static int bucketOf(long dmaAddr) {
        return (int) (dmaAddr >>> SHIFT) & (BUCKETS - 1);
    }

    void add(DebugRecord record) {
        int index = bucketOf(record.dmaAddr);
        List<DebugRecord> bucket = buckets[index];
        if (bucket == null) {
            bucket = new ArrayList<>(2);
            buckets[index] = bucket;
        }
        bucket.add(record);
        size++;
    }

    void remove(DebugRecord record) {
        if (bucket(bucketOf(record.dmaAddr)).remove(record)) {
            size--;
        }
    }

    int size() {
        return size;
    }

    private List<DebugRecord> bucket(int index) {
        List<DebugRecord> bucket = buckets[index];
        return bucket == null ? List.of() : bucket;
    }

    /** The record that starts at the address (DBG-4, DBG-5). */
    @Nullable DebugRecord exact(DebugRef ref) {
        return bestFit(ref, bucketOf(ref.dmaAddr()), r -> r.startsAt(ref.device(), ref.dmaAddr()));
    }

    /** The record that holds the range (DBG-6). */
    @Nullable DebugRecord containing(DebugRef ref) {
        int index = bucketOf(ref.dmaAddr());
        long tries = Addresses.min(BUCKETS, (ref.dmaAddr() >>> SHIFT) + 1);
        for (long i = 0; i < tries; i++) {
            DebugRecord found = bestFit(ref, index, r -> r.holds(ref));
            if (found != null) {
                return found;
            }
            index = (index - 1) & (BUCKETS - 1);
        }
        return null;
    }

    private @Nullable DebugRecord bestFit(DebugRef ref, int index, Predicate<DebugRecord> matches) {
        DebugRecord first = null;
        int count = 0;
        for (DebugRecord record : bucket(index)) {
            if (!matches.test(record)) {
                continue;
            }
            if (record.score(ref) == DebugRecord.PERFECT) {
                return record;
            }
            first = first == null ? record : first;
            count++;
        }
        return count == 1 ? first : null;
    }

    /** The oldest record at the address that nobody asked about (DBG-30). */
    @Nullable DebugRecord unchecked(@Nullable DebugDevice device, long dmaAddr) {
        for (DebugRecord record : bucket(bucketOf(dmaAddr))) {
            if (record.startsAt(device, dmaAddr) && record.errorCheck == ErrorCheck.NOT_CHECKED) {
                return record;
            }
        }
        return null;
    }

    void clear() {
        Arrays.fill(buckets, null);
        size = 0;
    }

    /** In bucket order, and oldest first in a bucket. */
    void forEach(Consumer<DebugRecord> action) {
        for (int i = 0; i < BUCKETS; i++) {
            bucket(i).forEach(action);
        }
    }
}
