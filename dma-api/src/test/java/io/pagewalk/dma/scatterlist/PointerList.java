package io.pagewalk.dma.scatterlist;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A list as the kernel has it in memory: chunks of slots, some of which END it or lead on (dma-core:SG-3, SGA-8). */
final class PointerList {
    private static final int MAX = 128;

    private static final class Chunk {
        final Slot[] slots;

        Chunk(int count) {
            slots = new Slot[count];
            for (int i = 0; i < count; i++) {
                slots[i] = new Slot(this, i);
            }
            slots[count - 1].end = true;
        }
    }

    private static final class Slot {
        final Chunk home;
        final int index;
        boolean end;

        @Nullable Chunk chain;

        Slot(Chunk home, int index) {
            this.home = home;
            this.index = index;
        }

        Slot next() {
            Slot slot = home.slots[index + 1];
            return slot.chain == null ? slot : slot.chain.slots[0];
        }
    }

    private final List<Chunk> live = new ArrayList<>();
    private final int failNth;
    private int allocations;
    private @Nullable Chunk head;
    private @Nullable Slot prv;
    int total;
    int used;

    PointerList(int failNth) {
        this.failNth = failNth;
    }

    /** Appends so many entries that merge with nothing; false when there is no memory. */
    boolean append(int count, int leftPages) {
        Slot current = prv;
        for (int i = 0; i < count; i++) {
            current = entryAfter(current, count - i + leftPages);
            if (current == null) {
                return false;
            }
        }
        used += count;
        prv = current;
        return true;
    }

    private @Nullable Slot entryAfter(@Nullable Slot current, int needed) {
        Slot next = current == null ? null : current.next();
        if (next != null && (!next.end || needed == 1)) {
            return next;
        }
        if (++allocations == failNth) {
            return null;
        }
        Chunk chunk = new Chunk(Math.min(needed, MAX));
        live.add(chunk);
        if (next == null) {
            head = chunk;
            total = chunk.slots.length;
        } else {
            next.end = false;
            next.chain = chunk;
            total += chunk.slots.length - 1;
        }
        return chunk.slots[0];
    }

    int walk() {
        if (head == null) {
            return 0;
        }
        int count = 1;
        for (Slot slot = head.slots[0]; !slot.end; slot = slot.next()) {
            count++;
        }
        return count;
    }

    /** Frees by count; false where that would follow what is no CHAIN. */
    boolean free() {
        Chunk chunk = head;
        int left = total;
        while (chunk != null && left > 0) {
            Chunk next = null;
            if (left > MAX) {
                next = chunk.slots.length < MAX ? null : chunk.slots[MAX - 1].chain;
                if (next == null) {
                    return false;
                }
            }
            live.remove(chunk);
            left = left > MAX ? left - (MAX - 1) : 0;
            chunk = next;
        }
        return true;
    }

    List<Integer> liveSizes() {
        return live.stream().map(chunk -> chunk.slots.length).toList();
    }
}
