package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_SHIFT;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.RestrictedPool;
import io.pagewalk.dma.held.HeldSection;
import io.pagewalk.dma.held.HeldSource;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.spi.Metric;
import io.pagewalk.dma.spi.MetricSink;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The swiotlb of one machine: its default allocator, the restricted pools, and which of them each device uses. Of a
 * machine without an IOMMU, {@link #of} finds it.
 *
 * <p>Implements dma-core:SWC-9 to SWC-11, SWC-25, SWD-1 for a late boot, DEV-9, SWX-1, SWX-2, SWF-1. Made by
 * {@link SwiotlbBoot}. Thread-safe, but nothing may be mapped in a pool that goes away.
 */
public final class Swiotlb implements HeldSource {
    private final Machine machine;
    private final SwiotlbPool defaultMem;
    private final LateBoot lateBoot;
    private final Map<String, SwiotlbPool> restricted = new LinkedHashMap<>();
    private final Map<Device, DeviceIoTlb> devices = new ConcurrentHashMap<>();
    private final SwiotlbDefaults defaults;
    private Runnable giveBack;

    Swiotlb(Machine machine, SwiotlbPool defaultMem, SwiotlbDefaults defaults, Runnable giveBack) {
        this.machine = machine;
        this.defaultMem = defaultMem;
        this.lateBoot = new LateBoot(machine);
        this.defaults = defaults;
        this.giveBack = giveBack;
    }

    /**
     * The swiotlb of a machine.
     *
     * @param machine a machine without an IOMMU
     * @return its swiotlb
     * @throws IllegalArgumentException when the machine's backend shows none
     */
    public static Swiotlb of(Machine machine) {
        Swiotlb swiotlb = machine.part(Swiotlb.class);
        if (swiotlb == null) {
            throw new IllegalArgumentException("the backend " + machine.backendName() + " shows no swiotlb");
        }
        return swiotlb;
    }

    /**
     * The default allocator, {@code io_tlb_default_mem}.
     *
     * @return always the same, with a pool or without
     */
    public SwiotlbPool defaultMem() {
        return defaultMem;
    }

    /**
     * The allocator of a device, {@code dma_io_tlb_mem} (dma-core:DEV-9).
     *
     * @param device a device of the machine
     * @return the link, always the same for a device
     */
    public DeviceIoTlb ioTlbOf(Device device) {
        return devices.computeIfAbsent(device, d -> new DeviceIoTlb(defaultMem));
    }

    /**
     * Attaches a new device: to the restricted pool that it names, else to the default allocator. When its pool cannot
     * be had the default one stays, with a message.
     *
     * @param device the device
     * @return its link
     */
    public DeviceIoTlb attach(Device device) {
        DeviceIoTlb ioTlb = ioTlbOf(device);
        String region = device.config().restrictedPool();
        if (region != null) {
            int error = attachRestricted(device, region);
            if (error != 0) {
                machine.log()
                        .message(
                                "of_dma_set_restricted_buffer",
                                device.name() + " cannot use the restricted pool " + region + ": " + Errno.name(error)
                                        + " (dma-core:SWX-1)");
            }
        }
        return ioTlb;
    }

    /**
     * Confines a device to a restricted pool; the first one creates the allocator (dma-core:SWX-1).
     *
     * @param device a device that has nothing mapped
     * @param region the name of a restricted pool of the machine
     * @return 0; -EINVAL when the region's properties forbid it, -ENOMEM when there is no memory for the allocator,
     *     with nothing changed
     * @throws IllegalArgumentException when the machine has no such region
     */
    public synchronized int attachRestricted(Device device, String region) {
        RestrictedPool described = regionOf(region);
        if (!described.properties().isEmpty()) {
            return -Errno.EINVAL;
        }
        SwiotlbPool mem = restricted.get(region);
        if (mem == null) {
            if (machine.failures().point("swiotlb.restricted").fails()) {
                return -Errno.ENOMEM;
            }
            mem = SwiotlbPool.restricted(machine, poolOf(described), region, defaults);
            restricted.put(region, mem);
        }
        ioTlbOf(device).use(mem);
        return 0;
    }

    private RestrictedPool regionOf(String region) {
        return machine.restrictedPools().stream()
                .filter(pool -> pool.name().equals(region))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(
                        "there is no restricted pool " + region + " among " + machine.restrictedPools()));
    }

    /** As large as the region holds whole slots, one area. */
    private IoTlbPool poolOf(RestrictedPool region) {
        int slots = Math.toIntExact(region.range().sizeBytes() >>> SLOT_SHIFT);
        machine.cpuMemory().zero(region.range().first(), (long) slots << SLOT_SHIFT);
        return new IoTlbPool(region.range().first(), slots, 1);
    }

    /**
     * Gives a device the default allocator again (dma-core:SWX-2).
     *
     * @param device a device that has nothing mapped
     */
    public void detachRestricted(Device device) {
        ioTlbOf(device).use(defaultMem);
    }

    /**
     * {@code swiotlb_init_late}: makes a pool of pages on a machine that runs (dma-core:SWC-9).
     *
     * @param sizeBytes how large it is to be
     * @param gfp bits of {@link Gfp}, of which the zones count
     * @param remap makes the memory fit for devices, or null
     * @return 0, also when there is a pool already or the command line forbids one; -ENOMEM; or what {@code remap} said
     */
    public synchronized int initLate(long sizeBytes, int gfp, @Nullable Remap remap) {
        if (defaultMem.isActive() || defaults.get().disabled()) {
            return 0;
        }
        if (defaults.get().areas() == 0) {
            defaults.set(defaults.get()
                    .withAreas(machine.cpus(), text -> machine.log().info("swiotlb", text)));
        }
        LateBoot.Outcome outcome =
                lateBoot.allocate(sizeBytes, gfp, remap, defaults.get().areas());
        if (outcome.pool() != null) {
            giveBack = outcome.giveBack();
            defaultMem.use(outcome.pool());
            if (remap == null) {
                growAfterLateBoot(gfp);
            }
        }
        return outcome.error();
    }

    /** As high as the pages could be that it was made of (SWD-1). */
    private void growAfterLateBoot(int gfp) {
        DynamicPools dynamic = defaultMem.dynamic();
        if (dynamic != null) {
            dynamic.growBelow(growthLimit(gfp));
        }
    }

    private long growthLimit(int gfp) {
        long zoneDmaLimit = machine.kernelConfig().arch().zones().zoneDmaLimit();
        if (Gfp.has(gfp, Gfp.DMA)) {
            return zoneDmaLimit;
        }
        return Gfp.has(gfp, Gfp.DMA32)
                ? Addresses.max(Zone.DMA32.lastAddress(), zoneDmaLimit)
                : machine.ram().top();
    }

    /** Makes memory fit for devices, such as {@code xen_swiotlb_fixup}. */
    @FunctionalInterface
    public interface Remap {
        /**
         * Changes a pool's memory.
         *
         * @param physAddr where it begins
         * @param slots its slots
         * @return 0 or a negated errno
         */
        int remap(long physAddr, long slots);
    }

    /**
     * {@code swiotlb_adjust_size}: asks for a default size where the command line has not (dma-core:SWC-10).
     *
     * @param sizeBytes bytes
     */
    public synchronized void adjustSize(long sizeBytes) {
        defaults.set(defaults.get().adjusted(sizeBytes));
    }

    /**
     * {@code swiotlb_size_or_default} (dma-core:SWC-11).
     *
     * @return bytes that a pool has by default
     */
    public synchronized long sizeOrDefault() {
        return defaults.get().slots() << SLOT_SHIFT;
    }

    /**
     * {@code default_swiotlb_base}; whoever has asked can rely on the pool, so it grows no more (dma-core:SWC-25).
     *
     * @return where the default pool begins, all ones without a pool
     */
    public long defaultBase() {
        DynamicPools dynamic = defaultMem.dynamic();
        if (dynamic != null) {
            dynamic.stopGrowing();
        }
        return defaultMem.start();
    }

    /**
     * {@code default_swiotlb_limit} (dma-core:SWC-25).
     *
     * @return the last address that an allocator which grows may use, else the last byte of the default pool; all ones
     *     without a pool
     */
    public long defaultLimit() {
        DynamicPools dynamic = defaultMem.dynamic();
        if (dynamic != null && dynamic.canGrow()) {
            return dynamic.physLimit();
        }
        return defaultMem.last();
    }

    /**
     * {@code swiotlb_exit}: gives the default pool's memory back; ignored when the command line forces bouncing
     * (dma-core:SWC-11). Pools that were added by growth are used no more, and keep their memory (SWD-9).
     */
    public synchronized void exit() {
        if (defaults.get().force() || !defaultMem.isActive()) {
            return;
        }
        defaultMem.use(null);
        giveBack.run();
        giveBack = () -> {};
    }

    /**
     * Says where memory of transient pools comes from that would have to be decrypted (dma-core:SWD-4). Only a kernel
     * that must decrypt what devices use takes it from there.
     *
     * @param decrypted the machine's, or null
     */
    public void takeDecryptedFrom(@Nullable DecryptedMemory decrypted) {
        DynamicPools dynamic = defaultMem.dynamic();
        if (dynamic != null
                && decrypted != null
                && machine.kernelConfig().arch().forcedDecryption()) {
            dynamic.takeDecryptedFrom(decrypted);
        }
    }

    /** Ends grace periods, which nothing waits for between calls (dma-core:SWD-8). */
    public synchronized void quiesce() {
        for (SwiotlbPool mem : mems()) {
            DynamicPools dynamic = mem.dynamic();
            if (dynamic != null) {
                dynamic.quiesce();
            }
        }
    }

    /**
     * The files of the kernel's debugfs: {@code swiotlb/io_tlb_nslabs} and its like, those of restricted pools in
     * directories of their names. An allocator without memory has none (dma-core:SWF-1).
     *
     * @return texts by path, each a decimal number and a newline
     */
    public synchronized Map<String, String> files() {
        Map<String, String> files = new LinkedHashMap<>();
        for (SwiotlbPool mem : mems()) {
            if (mem.isActive()) {
                String directory = mem.name().isEmpty() ? "swiotlb/" : "swiotlb/" + mem.name() + "/";
                files.put(directory + "io_tlb_nslabs", mem.slots() + "\n");
                files.put(directory + "io_tlb_used", mem.usedSlots() + "\n");
                files.put(directory + "io_tlb_used_hiwater", mem.usedHiwater() + "\n");
                if (mem.dynamic() != null) {
                    files.put(directory + "io_tlb_transient_nslabs", mem.transientSlots() + "\n");
                }
            }
        }
        return files;
    }

    /** All pools with what is free in them, and the runs of slots in use. */
    @Override
    public synchronized List<HeldSection> held() {
        PoolState state = new PoolState();
        mems().forEach(mem -> mem.tell(state));
        return state.sections();
    }

    private List<SwiotlbPool> mems() {
        List<SwiotlbPool> mems = new ArrayList<>();
        mems.add(defaultMem);
        mems.addAll(restricted.values());
        return mems;
    }

    /**
     * The allocator of a restricted pool.
     *
     * @param region the region's name
     * @return the allocator, or null until a device was attached to it
     */
    public synchronized @Nullable SwiotlbPool restrictedMem(String region) {
        return restricted.get(region);
    }

    /**
     * Reports what the default allocator counted, and copies of restricted pools.
     *
     * @param sink takes the numbers
     */
    public synchronized void report(MetricSink sink) {
        long restrictedBytes = restricted.values().stream()
                .mapToLong(SwiotlbPool::bytesBounced)
                .sum();
        defaultMem.report(
                (metric, value) -> sink.put(metric, metric == Metric.BYTES_BOUNCED ? value + restrictedBytes : value));
    }

    /**
     * Checks the structures of all pools. No call may be running.
     *
     * @param violation takes a sentence for each broken invariant
     */
    public synchronized void checkStructure(Consumer<String> violation) {
        mems().forEach(mem -> mem.checkStructure(violation));
    }

    /**
     * Checks that no slot of any pool is in use. No call may be running.
     *
     * @param violation takes a sentence for each area with slots in use
     */
    public synchronized void checkIdle(Consumer<String> violation) {
        mems().forEach(mem -> mem.checkIdle(violation));
    }
}
