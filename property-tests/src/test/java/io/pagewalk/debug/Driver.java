package io.pagewalk.debug;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.debug.DmaDebug;
import io.pagewalk.dma.debug.DmaDebugKind;
import io.pagewalk.dma.debug.DmaDebugOptions;
import io.pagewalk.dma.debug.DmaDebugProfile;
import io.pagewalk.dma.debug.DmaDebugReport;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaPages;
import io.pagewalk.kit.SmallWorld;
import io.pagewalk.kit.TestMachines;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;

/**
 * A driver that makes every call by the rules, on a machine with dma-debug: buffers lie two pages apart, so that no two
 * share a cacheline, and every address is asked about.
 */
final class Driver {
    static final List<DmaDirection> DIRECTIONS =
            List.of(DmaDirection.BIDIRECTIONAL, DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE);
    static final int SLOTS = 32;
    private static final long SLOT_BYTES = 0x2000;

    /** Something that is live, and how it ends. */
    private record Held(int slot, int slots, Runnable sync, Runnable end) {}

    final Machine machine;
    final Dma dma;
    private final List<Held> held = new ArrayList<>();
    private final boolean[] taken = new boolean[SLOTS];
    private int failures;
    private int resources;

    Driver(TestMachines machines, SmallWorld world, DmaDebugProfile profile) {
        machine = machines.start(world.builder()
                .dmaDebug(DmaDebugOptions.DEFAULT.withProfile(profile).withAllErrors(true)));
        dma = machine.addDevice(DeviceConfig.named("nic").withDriver("e1000")).dma(1);
    }

    static long buffer(int slot) {
        return SmallWorld.ARENAS.get(0).first() + slot * SLOT_BYTES;
    }

    DmaDebug debug() {
        return Objects.requireNonNull(machine.dmaDebug());
    }

    List<DmaDebugKind> kinds() {
        return debug().reports().stream().map(DmaDebugReport::kind).toList();
    }

    Device device() {
        return dma.device();
    }

    /** The first of so many free slots, or -1. */
    private int free(int wanted, int count) {
        for (int i = 0; i < SLOTS; i++) {
            int slot = (wanted + i) % SLOTS;
            if (slot + count <= SLOTS && Collections.frequency(takenFrom(slot, count), true) == 0) {
                return slot;
            }
        }
        return -1;
    }

    private List<Boolean> takenFrom(int slot, int count) {
        List<Boolean> there = new ArrayList<>();
        for (int i = slot; i < slot + count; i++) {
            there.add(taken[i]);
        }
        return there;
    }

    private void hold(int slot, int slots, Runnable sync, Runnable end) {
        for (int i = slot; i < slot + slots; i++) {
            taken[i] = true;
        }
        held.add(new Held(slot, slots, sync, end));
    }

    void mapPage(int wanted, int offset, int sizeBytes, DmaDirection direction) {
        int slot = free(wanted, 1);
        if (slot < 0) {
            return;
        }
        long dmaAddr = dma.mapPage(buffer(slot) + offset, sizeBytes, direction, 0);
        if (dma.mappingError(dmaAddr) != 0) {
            failures++;
            return;
        }
        Runnable sync = () -> {
            dma.syncSingleForCpu(dmaAddr, sizeBytes, direction);
            dma.syncSingleRangeForDevice(dmaAddr, sizeBytes / 2, sizeBytes - sizeBytes / 2, direction);
        };
        hold(slot, 1, sync, () -> dma.unmapPage(dmaAddr, sizeBytes, direction, 0));
    }

    void mapSg(int wanted, int count, int sizeBytes, DmaDirection direction) {
        int slot = free(wanted, count);
        if (slot < 0) {
            return;
        }
        SgTable list = new SgTable(count);
        for (int i = 0; i < count; i++) {
            list.add(buffer(slot + i), sizeBytes);
        }
        if (dma.mapSgTable(list, direction, 0) != 0) {
            failures++;
            return;
        }
        Runnable sync = () -> {
            dma.syncSgTableForCpu(list, direction);
            dma.syncSgTableForDevice(list, direction);
        };
        hold(slot, count, sync, () -> dma.unmapSgTable(list, direction, 0));
    }

    void allocCoherent(int sizeBytes) {
        CoherentBuffer memory = dma.memory().allocCoherent(sizeBytes, Gfp.KERNEL);
        if (memory != null) {
            hold(0, 0, () -> {}, memory::close);
        }
    }

    void allocPages(int sizeBytes, DmaDirection direction) {
        DmaPages pages = dma.memory().allocPages(sizeBytes, direction, Gfp.KERNEL);
        if (pages != null) {
            hold(
                    0,
                    0,
                    () -> dma.syncSingleForCpu(pages.dmaAddr(), sizeBytes, direction),
                    () -> dma.memory().freePages(sizeBytes, pages.physAddr(), pages.dmaAddr(), direction));
        }
    }

    void allocNoncontiguous(int sizeBytes, DmaDirection direction) {
        SgTable list = dma.memory().noncontiguous().alloc(sizeBytes, direction, Gfp.KERNEL, 0);
        if (list != null) {
            hold(0, 0, () -> {}, () -> dma.memory().noncontiguous().free(sizeBytes, list, direction));
        }
    }

    void mapResource(int offset, DmaDirection direction) {
        long physAddr = 0x20_0000_0000L + (long) resources * 0x1_0000 + offset;
        resources++;
        long dmaAddr = dma.mapResource(physAddr, 64, direction, 0);
        if (dma.mappingError(dmaAddr) == 0) {
            hold(0, 0, () -> {}, () -> dma.unmapResource(dmaAddr, 64, direction, 0));
        }
    }

    void sync(int which) {
        if (!held.isEmpty()) {
            held.get(which % held.size()).sync.run();
        }
    }

    void end(int which) {
        if (held.isEmpty()) {
            return;
        }
        Held one = held.remove(which % held.size());
        one.end.run();
        for (int i = one.slot; i < one.slot + one.slots; i++) {
            taken[i] = false;
        }
    }

    void finish() {
        while (!held.isEmpty()) {
            end(0);
        }
        device().unbindDriver();
        machine.quiesce();
    }

    int failures() {
        return failures;
    }
}
