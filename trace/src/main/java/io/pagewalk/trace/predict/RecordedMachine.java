package io.pagewalk.trace.predict;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.trace.replay.DeviceSpec;
import io.pagewalk.trace.replay.MachineFacts;
import io.pagewalk.trace.replay.MachineFacts.IommuMode;
import io.pagewalk.trace.replay.MachineSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The machine that recorded a trace, put together from its boot log and a machine file; where both say something, the
 * file counts.
 *
 * @param mode what its IOMMU did
 * @param cpus possible CPUs
 * @param commandLine its kernel's command line
 * @param pool where its bounce pool lay, null when it had none
 * @param areas areas of the pool
 * @param iommuWidthBits width of the IOMMU's addresses
 * @param reserved addresses that the IOMMU handed out to nobody
 * @param drivers who drove each device
 * @param spec the machine file
 */
public record RecordedMachine(
        IommuMode mode,
        int cpus,
        String commandLine,
        @Nullable PhysRange pool,
        int areas,
        int iommuWidthBits,
        List<PhysRange> reserved,
        Map<String, String> drivers,
        MachineSpec spec) {
    /** A driver's own constraint that no log tells: NVMe's pages lie at the same offset in a bounce as in memory. */
    private static final Map<String, DeviceSpec> KNOWN_DRIVERS =
            Map.of("nvme", new DeviceSpec(null, 0xfff, null, null, null, null));

    private static final Pattern FORCED = Pattern.compile("(?:^|\\s)swiotlb=(?:\\S*,)?force(?:\\s|$)");
    private static final Pattern NO_POOL = Pattern.compile("(?:^|\\s)swiotlb=(?:\\S*,)?noforce(?:\\s|$)");
    private static final long SLOT_BYTES = 2048;
    private static final long SET_BYTES = 128 * SLOT_BYTES;
    private static final int DEFAULT_WIDTH_BITS = 48;
    private static final long LAST_BELOW_4_GIB = 0xffff_ffffL;

    /**
     * Copies list and map.
     *
     * @param mode what its IOMMU did
     * @param cpus possible CPUs
     * @param commandLine its kernel's command line
     * @param pool where its bounce pool lay, or null
     * @param areas areas of the pool
     * @param iommuWidthBits width of the IOMMU's addresses
     * @param reserved addresses that the IOMMU handed out to nobody
     * @param drivers who drove each device
     * @param spec the machine file
     */
    public RecordedMachine {
        reserved = List.copyOf(reserved);
        drivers = Map.copyOf(drivers);
    }

    /**
     * Puts a machine together.
     *
     * @param log the boot log
     * @param spec the machine file, or {@link MachineSpec#DEFAULT}
     * @param traceCpus CPUs as the trace's header tells, 0 when it does not
     * @return the machine
     * @throws MachineFactsException when something is not told that a prediction needs; the message names all of it
     */
    public static RecordedMachine of(BootLog log, MachineSpec spec, int traceCpus) throws MachineFactsException {
        MachineFacts facts = spec.facts();
        List<String> missing = new ArrayList<>();
        IommuMode mode = mode(log, facts, missing);
        Integer width = facts.iommuWidthBits() != null ? facts.iommuWidthBits() : log.iommuWidthBits();
        List<PhysRange> reserved = facts.iommuReserved() != null ? facts.iommuReserved() : log.hostBridgeWindows();
        Integer cpus = spec.cpus() != null ? spec.cpus() : log.cpus();
        int allCpus = cpus != null ? cpus : traceCpus;
        if (mode != IommuMode.OFF) {
            require(width != null, missing, "the width of the IOMMU's addresses (\"DMAR: ... cap\"; iommu.widthBits)");
            boolean told = facts.iommuReserved() != null || !reserved.isEmpty();
            require(told, missing, "the host bridge's windows (\"pci_bus ...: root bus resource\"; iommu.reserved)");
        }
        require(allCpus > 0, missing, "the number of CPUs (\"nr_cpu_ids\"; cpus)");
        PhysRange pool = pool(log, facts);
        require(
                pool != null || !isForced(log),
                missing,
                "where the bounce pool lies (\"software IO TLB: mapped\"; " + "swiotlb.start and swiotlb.slots)");
        if (!missing.isEmpty()) {
            throw new MachineFactsException(
                    log.name(),
                    "does not tell, and no machine file either (log line; field): " + String.join(", ", missing));
        }
        Integer told = facts.poolAreas() != null && facts.poolAreas() != 0 ? facts.poolAreas() : log.areas();
        int areas = told == null ? areasOf(allCpus, pool) : told;
        checkAreas(log, pool, areas);
        return new RecordedMachine(
                mode,
                allCpus,
                log.commandLine() == null ? "" : log.commandLine(),
                pool,
                areas,
                width == null ? DEFAULT_WIDTH_BITS : width,
                reserved,
                log.drivers(),
                spec);
    }

    /** One for each CPU, rounded up to a power of two, but no more than there are sets of slots. */
    private static int areasOf(int cpus, @Nullable PhysRange pool) {
        int rounded = Integer.bitCount(cpus) == 1 ? cpus : Integer.highestOneBit(cpus) << 1;
        return pool == null ? rounded : (int) Math.min(rounded, pool.sizeBytes() / SET_BYTES);
    }

    private static void require(boolean told, List<String> missing, String what) {
        if (!told) {
            missing.add(what);
        }
    }

    private static IommuMode mode(BootLog log, MachineFacts facts, List<String> missing) {
        if (facts.iommuMode() != null) {
            return facts.iommuMode();
        }
        if (!log.iommuOn()) {
            return IommuMode.OFF;
        }
        require(
                log.lazy() != null,
                missing,
                "whether unmaps are strict or lazy (\"iommu: DMA domain TLB invalidation policy\"; iommu.mode)");
        return Boolean.TRUE.equals(log.lazy()) ? IommuMode.LAZY : IommuMode.STRICT;
    }

    private static boolean isForced(BootLog log) {
        return log.commandLine() != null
                && FORCED.matcher(log.commandLine()).find()
                && !NO_POOL.matcher(log.commandLine()).find();
    }

    private static @Nullable PhysRange pool(BootLog log, MachineFacts facts) throws MachineFactsException {
        PhysRange told = log.pool();
        Long start = facts.poolStart() != null ? facts.poolStart() : told == null ? null : (Long) told.first();
        Long sizeBytes = facts.poolSlots() != null
                ? (Long) (facts.poolSlots() * SLOT_BYTES)
                : told == null ? null : (Long) told.sizeBytes();
        if (start == null || sizeBytes == null) {
            return null;
        }
        checkPool(log, start, sizeBytes);
        return PhysRange.ofSize(start, sizeBytes);
    }

    private static void checkPool(BootLog log, long start, long sizeBytes) throws MachineFactsException {
        boolean fits = Addresses.isAligned(start, Addresses.PAGE_SIZE)
                && Addresses.lessOrEqual(start, LAST_BELOW_4_GIB)
                && Addresses.lessOrEqual(sizeBytes, LAST_BELOW_4_GIB + 1 - start);
        if (!fits || Long.bitCount(sizeBytes) != 1 || sizeBytes < SET_BYTES) {
            throw new MachineFactsException(
                    log.name(),
                    "a bounce pool of " + Addresses.hexRange(start, sizeBytes)
                            + " cannot be: it begins on a page, ends below 4 GiB, and has a power of two slots of 2 KiB, at "
                            + "least 128");
        }
    }

    private static void checkAreas(BootLog log, @Nullable PhysRange pool, int areas) throws MachineFactsException {
        if (pool != null && (Integer.bitCount(areas) != 1 || areas > pool.sizeBytes() / SET_BYTES)) {
            throw new MachineFactsException(
                    log.name(),
                    areas + " areas cannot be in a bounce pool of " + pool.sizeBytes() / SLOT_BYTES
                            + " slots: they are a power of two, each of at least 128 slots");
        }
    }

    /**
     * Slots of the bounce pool.
     *
     * @return their number, 0 without a pool
     */
    public long poolSlots() {
        return pool == null ? 0 : pool.sizeBytes() / SLOT_BYTES;
    }

    /**
     * Whether every mapping bounced.
     *
     * @return true when the command line said so
     */
    public boolean bouncesAll() {
        return pool != null && FORCED.matcher(commandLine).find();
    }

    /**
     * What is known of a device: from the file, of itself or of its driver, and of drivers that are known by name.
     *
     * @param name the device
     * @return all of it together
     */
    public DeviceSpec device(String name) {
        DeviceSpec spec = this.spec.devices().getOrDefault(name, DeviceSpec.NONE);
        String driver = drivers.get(name);
        if (driver == null) {
            return spec;
        }
        return spec.orElse(this.spec.facts().drivers().getOrDefault(driver, DeviceSpec.NONE))
                .orElse(KNOWN_DRIVERS.getOrDefault(driver, DeviceSpec.NONE));
    }

    /**
     * Names what gave out the addresses.
     *
     * @return a short phrase
     */
    public String backend() {
        return switch (mode) {
            case STRICT -> "IOMMU, strict";
            case LAZY -> "IOMMU, lazy";
            case OFF -> bouncesAll() ? "swiotlb, every mapping bounced" : "direct, bounced where a mask does not reach";
        };
    }
}
