package io.pagewalk.stress;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.driver.VtdDriver;
import io.pagewalk.backends.iommu.unit.VtdFaultReason;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * The machine that all states of one stress test share, with a device behind a domain of its own. A machine for each of
 * millions of states would leave time for nothing else, and its table pages would never have been another table's.
 *
 * <p>States are kept apart by slots. A slot has a page of memory above 4 GiB, so that half an entry leads elsewhere; a
 * page of device addresses whose tables stay; and a gigabyte of device addresses whose tables come and go with the one
 * page that is mapped at its start.
 *
 * <p>Thread-safe.
 */
final class StressMachine {
    static final long PAGE = 4096;
    static final long GIB = 1L << 30;

    /** More than there are states at a time. */
    private static final int SLOTS = 1 << 12;

    /** How often a device tries, so that one of its accesses meets the driver's call: some microseconds. */
    static final int TRIES = 100;

    private static final long MIB = 1L << 20;
    private static final long PAGES = 0x2_0000_0000L;
    private static final long SINGLE = 1L << 40;
    private static final long SPARSE = 1L << 41;
    private static final int RW = IommuProt.READ | IommuProt.WRITE;

    private final Machine machine;
    private final IommuPagingDomain domain;
    private final Device device;
    private final BusPort port;
    private final AtomicInteger turn = new AtomicInteger();
    private final AtomicIntegerArray taken = new AtomicIntegerArray(SLOTS);

    private StressMachine(BackendOptions options) {
        machine = Machine.builder()
                .ramBytes(16L << 30)
                .chunkBytes(1 << 16)
                .allocatable(List.of(new PhysRange(MIB, 129 * MIB - 1)))
                .commandLine("swiotlb=noforce")
                .backend("iommu-strict")
                .backendOptions(options)
                .build();
        device = machine.addDevice(DeviceConfig.named("dev"));
        domain = Iommu.of(machine).allocPagingDomain();
        requireDone(device.setMaskAndCoherent(-1L) == 0 && domain.attach(device) == 0, "attaching");
        port = Objects.requireNonNull(machine.part(VtdDriver.class)).port(device);
        for (int slot = 0; slot < SLOTS; slot++) {
            map(slot, single(slot));
            unmap(single(slot), PAGE);
        }
    }

    /** A machine whose unit remembers nothing that is of use: every access walks from the root. */
    static StressMachine withoutCaches() {
        return new StressMachine(
                BackendOptions.NONE.with("iommu.iotlbEntries", 1).with("iommu.pagingCacheEntries", 0));
    }

    /** A machine whose unit has an IOTLB and paging-structure caches for all slots. */
    static StressMachine withCaches() {
        return new StressMachine(
                BackendOptions.NONE.with("iommu.iotlbEntries", SLOTS).with("iommu.pagingCacheEntries", SLOTS));
    }

    private static void requireDone(boolean done, String what) {
        if (!done) {
            throw new IllegalStateException(what + " was refused");
        }
    }

    // ---- slots

    /** A slot that no other state has, nothing of it mapped and its page all zero. */
    int takeSlot() {
        for (int tries = 0; tries < SLOTS; tries++) {
            int slot = turn.getAndIncrement() & (SLOTS - 1);
            if (taken.compareAndSet(slot, 0, 1)) {
                return slot;
            }
        }
        throw new IllegalStateException("there are more than " + SLOTS + " states at once");
    }

    /** Gives a slot back of which nothing is mapped any more. */
    void giveSlot(int slot) {
        machine.memory().putLong(page(slot), 0);
        taken.set(slot, 0);
    }

    private static long page(int slot) {
        return PAGES + slot * PAGE;
    }

    /** The device address of a page in tables that stay. */
    static long single(int slot) {
        return SINGLE + slot * PAGE;
    }

    /** The device address of a page, the only one of its gigabyte. */
    static long sparse(int slot) {
        return SPARSE + slot * GIB;
    }

    // ---- the driver's side

    /** What stands in a page while it is mapped. */
    private static long mark(int slot) {
        return 0x5afe_0000_0000_0000L | slot;
    }

    /** Writes a slot's page, then maps it. */
    void writeAndMap(int slot, long iova) {
        write(slot, mark(slot));
        map(slot, iova);
    }

    void write(int slot, long value) {
        machine.cpuMemory().putLong(page(slot), value);
    }

    long read(int slot) {
        return machine.cpuMemory().getLong(page(slot));
    }

    void map(int slot, long iova) {
        requireDone(domain.map(iova, page(slot), PAGE, RW) == 0, "a mapping");
    }

    /** Unmaps strictly: nobody reaches the range once this has returned. */
    void unmap(long iova, long sizeBytes) {
        requireDone(domain.unmap(iova, sizeBytes) == sizeBytes, "an unmapping");
    }

    // ---- the device's side

    /** Reads eight bytes as the device, where a slot's page is expected. */
    Walk walk(int slot, long iova) {
        long token = port.beginAccess();
        try {
            long physAddr = port.translate(iova, Access.READ);
            if (BusPort.isFault(physAddr)) {
                return BusPort.faultCode(physAddr) == VtdFaultReason.NO_READ ? Walk.NOTHING : Walk.OTHER_FAULT;
            }
            if (physAddr != page(slot)) {
                return Walk.ELSEWHERE;
            }
            return machine.memory().getLong(physAddr) == mark(slot) ? Walk.PAGE : Walk.STALE_BYTES;
        } finally {
            port.endAccess(token);
        }
    }

    /** Walks until the answer is another one, or until it has been the same for long enough. */
    Walk walkWhile(Walk before, int slot, long iova) {
        Walk found = before;
        for (int tries = 0; tries < TRIES && found == before; tries++) {
            found = walk(slot, iova);
        }
        return found;
    }

    DeviceBus bus() {
        return device.bus();
    }
}
