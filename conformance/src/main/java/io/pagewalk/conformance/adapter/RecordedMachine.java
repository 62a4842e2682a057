package io.pagewalk.conformance.adapter;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuDomainView;
import io.pagewalk.backends.iommu.api.ReservedRegion;
import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.backends.swiotlb.SwiotlbBoot;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.ArrayList;
import java.util.List;

/**
 * The machine on which a boot was recorded, and its one device: QEMU's edu. What the boot line says of it is taken from
 * there; RAM and CPUs, which it does not say, go by the boot's name.
 */
final class RecordedMachine implements AutoCloseable {
    /** The device's name and place on the bus. */
    static final String DEVICE = "0000:00:01.0";

    private static final int REQUESTER_ID = 1 << 3;
    private static final long SLOT_BYTES = 2048;
    private static final int CHUNK_BYTES = 1 << 16;
    private static final int BITS_PER_LEVEL = 9;
    private static final int UNIT_WIDTH_BITS = 39;
    /** The recording's status register names record 0 every time. */
    private static final int UNIT_FAULT_RECORDS = 1;

    private final Question boot;
    private final Machine machine;
    private final Device device;
    private final Dma dma;
    private final SwiotlbPool pool;
    private final LogWatch log;

    private RecordedMachine(Question boot, DeviceConfig config) {
        this.boot = boot;
        this.machine = builder(boot).backend("iommu").build();
        this.device = machine.addDevice(config);
        this.dma = device.dma(boot.integer("cpu"));
        this.pool = Swiotlb.of(machine).defaultMem();
        this.log = new LogWatch(machine.log());
    }

    /** Boots with a device as the line describes it. */
    static RecordedMachine boot(Question boot) {
        return new RecordedMachine(boot, device(boot));
    }

    /** Boots with a device on an external port. */
    static RecordedMachine bootUntrusted(Question boot) {
        return new RecordedMachine(boot, device(boot).withTrusted(false));
    }

    private static DeviceConfig device(Question boot) {
        return DeviceConfig.named(DEVICE)
                .withRequesterId(REQUESTER_ID)
                .withStreamingMask(boot.number("dma_mask"))
                .withCoherentMask(boot.number("coherent_mask"))
                .withBusLimit(boot.number("bus_dma_limit"));
    }

    /** Boots what a line describes that knows of no device. */
    static Machine withoutDevice(Question boot) {
        requireModel(boot);
        return Machine.builder()
                .backend("virt")
                .cpus(boot.has("cpus") ? boot.integer("cpus") : 1)
                .commandLine(boot.text("cmdline"))
                .kernelModel(KernelModel.LINUX_6_12)
                .build();
    }

    private static void requireModel(Question boot) {
        if (!boot.text("kernel").startsWith("6.12.")) {
            throw new BadVectorException("no model of kernel " + boot.text("kernel"));
        }
    }

    private static MachineBuilder builder(Question boot) {
        requireModel(boot);
        return Machine.builder()
                .ram(ram(boot.text("boot")))
                .cpus(cpus(boot.text("boot")))
                .chunkBytes(CHUNK_BYTES)
                .commandLine(boot.text("cmdline"))
                .kernelModel(KernelModel.LINUX_6_12)
                .hostBridgeWindows(windows(boot))
                .backendOptions(options(boot));
    }

    private static RamMap ram(String name) {
        return switch (name) {
            case "masks_2g" -> RamMap.of(PhysRange.ofSize(0, 2L << 30));
            case "masks_512m" -> RamMap.of(PhysRange.ofSize(0, 512L << 20));
            default -> RamMap.of(PhysRange.ofSize(0, 2L << 30), PhysRange.ofSize(4L << 30, 4L << 30));
        };
    }

    private static int cpus(String name) {
        return name.equals("swiotlb_smp4") ? 4 : 1;
    }

    /** Memory windows, as addresses on the bus. */
    private static List<PhysRange> windows(Question boot) {
        List<PhysRange> windows = new ArrayList<>();
        if (boot.has("pci_windows")) {
            for (long[] window : boot.rows("pci_windows", 4)) {
                if (window[3] != 0) {
                    windows.add(new PhysRange(window[0] - window[2], window[1] - window[2]));
                }
            }
        }
        return windows;
    }

    /** QEMU's unit has 39 bits; the pool lies where the recording kernel's did. */
    private static BackendOptions options(Question boot) {
        BackendOptions options = BackendOptions.NONE
                .with("iommu.widthBits", UNIT_WIDTH_BITS)
                .with("iommu.faultRecords", UNIT_FAULT_RECORDS);
        long start = boot.object("swiotlb").number("start");
        return start == 0 ? options : options.with(SwiotlbBoot.POOL_BASE_OPTION, start);
    }

    Machine machine() {
        return machine;
    }

    Device device() {
        return device;
    }

    Dma dma() {
        return dma;
    }

    LogWatch log() {
        return log;
    }

    /** Whether unmaps are flushed together, so that addresses depend on a timer. */
    boolean isLazy() {
        return machine.ownsAddresses() && !machine.blocksAfterUnmap();
    }

    /** Where the bounce pool begins; 0 without one. */
    long poolStart() {
        return boot.object("swiotlb").number("start");
    }

    /** Whether an address lies in the bounce pool. */
    boolean isInPool(long physAddr) {
        return pool.contains(device(), physAddr);
    }

    /** Slots of the pool in use, {@code io_tlb_used}. */
    long usedSlots() {
        return pool.usedSlots();
    }

    /** Most slots in use at once, {@code io_tlb_used_hiwater}. */
    long usedHiwater() {
        return pool.usedHiwater();
    }

    /** What the library says of the device and of its machine. */
    Answers answers() {
        Answers answers = new Answers()
                .unsigned("required_mask", dma.requiredMask())
                .unsigned("max_mapping", dma.maxMappingSize())
                .unsigned("opt_mapping", dma.optMappingSize())
                .unsigned("max_seg_size", device.maxSegmentBytes())
                .unsigned("seg_boundary", device.segmentBoundaryMask())
                .unsigned("merge_boundary", dma.mergeBoundary())
                .bit("coherent", device.isCoherent())
                .object("swiotlb", pool());
        if (boot.flag("iommu")) {
            domain(answers);
        }
        return answers;
    }

    private Answers pool() {
        long slots = pool.slots();
        return new Answers()
                .unsigned("end", slots == 0 ? 0 : pool.start() + slots * SLOT_BYTES)
                .unsigned("nslabs", slots)
                .unsigned("nareas", pool.areas())
                .unsigned("area_nslabs", slots == 0 ? 0 : slots / pool.areas())
                .bit("force", pool.isForced())
                .unsigned("used", pool.usedSlots());
    }

    private void domain(Answers answers) {
        Iommu iommu = Iommu.of(machine);
        IommuDomainView domain = iommu.defaultDomainOf(device);
        answers.signed("domain_type", domain.type().bits())
                .unsigned("pgsize_bitmap", domain.pageSizes())
                .bit("force_aperture", domain.isApertureForced())
                .rows("resv", reserved(iommu));
        if (domain.type().isPaging()) {
            answers.list("aperture", domain.apertureStart(), domain.apertureEnd())
                    .unsigned("pt_levels", levels(domain.apertureEnd()));
        } else {
            // A domain without tables has no aperture: the kernel leaves it at 0.
            answers.list("aperture", 0, 0);
        }
    }

    /** The kernel's numbers of what is reserved. */
    private static int number(ReservedRegion.Type type) {
        return switch (type) {
            case DIRECT -> 0;
            case DIRECT_RELAXABLE -> 1;
            case RESERVED -> 2;
            case MSI -> 3;
            case SW_MSI -> 4;
        };
    }

    private List<long[]> reserved(Iommu iommu) {
        return iommu.reservedRegions(device).stream()
                .map(r -> new long[] {r.start(), r.sizeBytes(), number(r.type())})
                .toList();
    }

    /** A level of tables decodes 9 bits of what is above the page. */
    private static int levels(long apertureEnd) {
        int width = Long.SIZE - Long.numberOfLeadingZeros(apertureEnd);
        return (width - Addresses.PAGE_SHIFT + BITS_PER_LEVEL - 1) / BITS_PER_LEVEL;
    }

    /** The direction that a number stands for (dma-core:TYP-5). */
    static DmaDirection direction(int number) {
        DmaDirection[] all = {
            DmaDirection.BIDIRECTIONAL, DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE, DmaDirection.NONE
        };
        if (number < 0 || number >= all.length) {
            throw new BadVectorException("there is no direction " + number);
        }
        return all[number];
    }

    @Override
    public void close() {
        machine.close();
    }
}
