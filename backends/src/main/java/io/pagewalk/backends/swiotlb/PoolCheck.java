package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SET_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_BYTES;

import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import java.util.function.Consumer;

/** Checks the structures of an allocator's pools against each other, while nobody uses them. */
final class PoolCheck {
    private final IoTlbPool pool;
    private final SlotTable table;
    private final Consumer<String> violation;

    PoolCheck(IoTlbPool pool, Consumer<String> violation) {
        this.pool = pool;
        this.table = pool.table();
        this.violation = violation;
    }

    /** Checks one allocator's pools, and its counters against all of them. */
    static void structure(List<IoTlbPool> pools, Consumer<String> violation) {
        long used = 0;
        for (IoTlbPool pool : pools) {
            used += new PoolCheck(pool, violation).areas();
        }
        if (!pools.isEmpty()) {
            new PoolCheck(pools.get(pools.size() - 1), violation).usage(used);
        }
    }

    private long areas() {
        long used = 0;
        for (int number = 0; number < pool.areaCount(); number++) {
            used += area(number);
        }
        return used;
    }

    private void usage(long used) {
        SlotUsage usage = pool.usage();
        if (used != usage.used()) {
            broken("its areas use " + used + " slots, its total says " + usage.used());
        }
        if (usage.hiwater() < usage.used() && !usage.hiwaterWasReset()) {
            broken("its hiwater " + usage.hiwater() + " is below its " + usage.used() + " slots in use");
        }
    }

    private int area(int number) {
        int first = number * pool.areaSlots();
        int used = 0;
        for (int slot = first; slot < first + pool.areaSlots(); slot++) {
            if (table.freeRun(slot) == 0) {
                used++;
            } else {
                freeSlot(slot);
            }
        }
        mappings(first, first + pool.areaSlots());
        counters(number, used);
        return used;
    }

    private void counters(int number, int used) {
        IoTlbArea area = pool.area(number);
        if (area.usedLocked() != used) {
            broken("area " + number + " counts " + area.usedLocked() + " slots in use, " + used + " are");
        }
        if (area.index() < 0 || area.index() >= pool.areaSlots()) {
            broken("the index of area " + number + " is " + area.index() + " of " + pool.areaSlots());
        }
    }

    /** The run that starts at a free slot goes on in the next slot, unless its set ends (dma-core:SWS-12). */
    private void freeSlot(int slot) {
        int next = slot + 1;
        int expected = next % SET_SLOTS == 0 || next == table.slots() ? 1 : table.freeRun(next) + 1;
        if (table.freeRun(slot) != expected) {
            broken("slot " + slot + " says that " + table.freeRun(slot) + " slots are free from there, it is "
                    + expected);
        }
        if (table.origAddr(slot) != INVALID_PHYS_ADDR || table.allocSize(slot) != 0 || table.padSlots(slot) != 0) {
            broken("free slot " + slot + " holds original " + Addresses.hex(table.origAddr(slot)) + ", size "
                    + Addresses.hex(table.allocSize(slot)) + " and " + table.padSlots(slot) + " padding slots");
        }
    }

    /** In a mapping sizes count down; what comes behind a slot with a size of at most a slot may be a new one. */
    private void mappings(int first, int end) {
        for (int slot = first; slot + 1 < end; slot++) {
            if (table.freeRun(slot) == 0) {
                pair(slot, slot + 1);
            }
        }
    }

    private void pair(int slot, int next) {
        boolean goesOn = table.freeRun(next) == 0 && table.allocSize(next) == table.allocSize(slot) - SLOT_BYTES;
        if (!goesOn && table.allocSize(slot) > SLOT_BYTES) {
            broken("slot " + slot + " has " + Addresses.hex(table.allocSize(slot)) + " bytes to go, slot " + next
                    + " has " + Addresses.hex(table.allocSize(next)));
        }
        boolean described = table.origAddr(slot) != INVALID_PHYS_ADDR;
        if (goesOn
                && described
                && table.allocSize(next) > 0
                && table.origAddr(next) != table.origAddr(slot) + SLOT_BYTES) {
            broken("slot " + slot + " bounces " + Addresses.hex(table.origAddr(slot)) + ", slot " + next + " "
                    + Addresses.hex(table.origAddr(next)));
        }
    }

    /** Checks that nothing of one allocator's pools is in use. */
    static void idle(List<IoTlbPool> pools, Consumer<String> violation) {
        for (IoTlbPool pool : pools) {
            new PoolCheck(pool, violation).idleAreas();
        }
        if (!pools.isEmpty()) {
            new PoolCheck(pools.get(pools.size() - 1), violation).idleUsage();
        }
    }

    private void idleAreas() {
        for (int number = 0; number < pool.areaCount(); number++) {
            int used = pool.area(number).usedLocked();
            if (used != 0) {
                broken("area " + number + " has " + used + " slots in use, the first is " + firstUsed(number));
            }
        }
    }

    private void idleUsage() {
        if (pool.usage().used() != 0) {
            broken(pool.usage().used() + " slots are in use");
        }
    }

    private String firstUsed(int number) {
        int first = number * pool.areaSlots();
        for (int slot = first; slot < first + pool.areaSlots(); slot++) {
            if (table.freeRun(slot) == 0) {
                return slot + " for original " + Addresses.hex(table.origAddr(slot));
            }
        }
        return "none";
    }

    private void broken(String sentence) {
        violation.accept("swiotlb pool at " + Addresses.hexRange(pool.start(), pool.sizeBytes()) + ": " + sentence);
    }
}
