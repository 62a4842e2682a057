package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_BYTES;

import io.pagewalk.dma.held.HeldSection;
import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.List;

/** What pools hold, as tables: the areas with what is free in them, and each run of slots in use. Not thread-safe. */
final class PoolState {
    private final List<List<String>> areas = new ArrayList<>();
    private final List<List<String>> runs = new ArrayList<>();

    /** Adds the pools of one allocator. */
    void add(String allocator, Iterable<IoTlbPool> pools) {
        String name = allocator.isEmpty() ? "default" : allocator;
        for (IoTlbPool pool : pools) {
            for (int number = 0; number < pool.areaCount(); number++) {
                addArea(name, pool, number);
            }
            addRuns(name, pool);
        }
    }

    private void addArea(String allocator, IoTlbPool pool, int number) {
        int first = number * pool.areaSlots();
        int largest = 0;
        for (int slot = first; slot < first + pool.areaSlots(); slot++) {
            largest = Math.max(largest, pool.table().freeRun(slot));
        }
        int used = pool.area(number).usedLocked();
        areas.add(List.of(
                allocator,
                Addresses.hex(pool.addressOf(first)),
                Integer.toString(pool.areaSlots()),
                Integer.toString(used),
                Integer.toString(pool.areaSlots() - used),
                Integer.toString(largest),
                pool.isTransient() ? "yes" : "no"));
    }

    /** Sizes count down within a mapping (SWS-9), so that a slot whose size does not is the first of another. */
    private void addRuns(String allocator, IoTlbPool pool) {
        SlotTable table = pool.table();
        int slot = 0;
        while (slot < table.slots()) {
            int end = slot + 1;
            if (table.freeRun(slot) == 0) {
                while (end < table.slots()
                        && table.freeRun(end) == 0
                        && table.allocSize(end) == table.allocSize(end - 1) - SLOT_BYTES) {
                    end++;
                }
                addRun(allocator, pool, slot, end);
            }
            slot = end;
        }
    }

    /** Padding slots come first and have no original address (SWM-8); memory allocated from a pool has none at all. */
    private void addRun(String allocator, IoTlbPool pool, int first, int end) {
        SlotTable table = pool.table();
        int described = first;
        while (described < end && table.origAddr(described) == INVALID_PHYS_ADDR) {
            described++;
        }
        runs.add(List.of(
                allocator,
                Addresses.hex(pool.addressOf(first)),
                Integer.toString(end - first),
                Long.toUnsignedString(table.allocSize(first)),
                described == end ? "-" : Addresses.hex(table.origAddr(described))));
    }

    List<HeldSection> sections() {
        return List.of(
                new HeldSection(
                        "bounce pool areas",
                        List.of("allocator", "start", "slots", "used", "free", "largest free run", "transient"),
                        areas),
                new HeldSection(
                        "bounce slots in use", List.of("allocator", "start", "slots", "bytes", "bounces"), runs));
    }
}
