package io.pagewalk.rdma;

import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.i40iw.Generation;
import io.pagewalk.rdma.i40iw.I40iwConfig;
import io.pagewalk.rdma.i40iw.I40iwDevice;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserMemory;
import io.pagewalk.rdma.rxe.RxeConfig;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Restrack;
import io.pagewalk.rdma.verbs.VerbsDevice;
import java.util.ArrayList;
import java.util.List;

/** A small machine with a process and devices of one kind, and what it holds in numbers. */
public final class VerbsWorld implements AutoCloseable {
    public static final int PAGE = 4096;

    /** What access is asked for in good faith: rxe and the adapters know all of it. */
    public static final int ALL = AccessFlags.LOCAL_WRITE
            | AccessFlags.REMOTE_READ
            | AccessFlags.REMOTE_WRITE
            | AccessFlags.REMOTE_ATOMIC
            | AccessFlags.MW_BIND;

    /** Devices under fire. */
    public enum Kind {
        RXE("direct"),
        RXE_DISTINCT("direct"),
        RXE_5("direct"),
        I40IW_DIRECT("direct"),
        I40IW_LAZY("iommu-lazy"),
        IRDMA_STRICT("iommu-strict"),
        IRDMA_IWARP("direct"),
        IRDMA_SWIOTLB("swiotlb");

        private final String backend;

        Kind(String backend) {
            this.backend = backend;
        }

        public boolean isRxe() {
            return name().startsWith("RXE");
        }
    }

    public final Machine machine;
    public final Process process;
    public final Pins pins;
    public final List<VerbsDevice> devices = new ArrayList<>();
    private final List<Long> frames = new ArrayList<>();
    private final Kind kind;
    private final long pagesAtStart;

    public VerbsWorld(Kind kind, int deviceCount) {
        this.kind = kind;
        machine = Machine.builder()
                .ramBytes(32L << 20)
                .chunkBytes(1 << 16)
                .backend(kind.backend)
                .kernelModel(kind == Kind.RXE_5 ? KernelModel.LINUX_5 : KernelModel.LINUX_6_12)
                .build();
        pagesAtStart = machine.pages().allocatedPages();
        process = Process.create(machine);
        pins = UserMemory.of(machine).pins();
        for (int i = 0; i < deviceCount; i++) {
            devices.add(add("dev" + i));
        }
    }

    private VerbsDevice add(String name) {
        if (kind.isRxe()) {
            RxeConfig config = RxeConfig.kernel().withLimits(48, 0);
            return RxeDevice.add(name, machine, kind == Kind.RXE_DISTINCT ? config.withDistinctKeys() : config);
        }
        I40iwConfig config = switch (kind) {
            case I40IW_DIRECT, I40IW_LAZY -> I40iwConfig.x722(Generation.I40IW);
            case IRDMA_IWARP -> I40iwConfig.x722(Generation.IRDMA);
            default -> I40iwConfig.e810();
        };
        var nic = machine.addDevice(DeviceConfig.named("nic-" + name).withMask(-1L));
        return I40iwDevice.add(
                        name,
                        nic,
                        config.withMaxMr(48).withPbles(0x4000_0000L, 1 << 14).withCommandSlots(4))
                .value();
    }

    /** Memory of the process, all but its last page touched. */
    public long memory(int pages) {
        long addr = process.mmap((long) pages * PAGE);
        process.writeBytes(addr, new byte[(pages - 1) * PAGE]);
        return addr;
    }

    /** A list of pages of the kernel, not mapped. */
    public SgTable list(int pages) {
        SgTable table = new SgTable(pages);
        for (int i = 0; i < pages; i++) {
            long page = machine.pages().allocPages(Zone.NORMAL, 1);
            frames.add(page);
            table.add(page, PAGE);
        }
        return table;
    }

    public SgTable mappedList(VerbsDevice device, int pages) {
        SgTable table = list(pages);
        if (device.ibDevice().dma().mapSgTable(table, DmaDirection.BIDIRECTIONAL, 0) != 0) {
            throw new IllegalStateException("a list of " + pages + " pages cannot be mapped");
        }
        return table;
    }

    // ---- what it holds

    public long pinsHeld() {
        return pins.acquired() - pins.released();
    }

    /** Numbers that are zero when nothing is held. */
    public static List<Long> held(VerbsDevice device) {
        List<Long> all = new ArrayList<>();
        for (Restrack.Kind each : Restrack.Kind.values()) {
            all.add((long) device.restrack().count(each));
        }
        if (device.provider() instanceof RxeDevice rxe) {
            all.add((long) rxe.pdCount());
            all.add((long) rxe.mrCount());
            all.add((long) rxe.mwCount());
            all.add((long) rxe.qpCount());
        } else if (device.provider() instanceof I40iwDevice adapter) {
            all.add((long) adapter.stags().inUse());
            all.add(adapter.pbles().allocatedPbles() - adapter.pbles().freedPbles());
            all.add((long) adapter.commands().taken());
        }
        return all;
    }

    /** What is left though all of it was given back: nothing but what an IOMMU keeps for its tables. */
    public List<String> leftOver() {
        frames.forEach(page -> machine.pages().freePages(page, 1));
        for (VerbsDevice device : devices) {
            if (device.provider() instanceof I40iwDevice adapter) {
                adapter.close();
            }
        }
        process.exit();
        machine.quiesce();
        List<String> left = new ArrayList<>();
        machine.checkStructure(left::add);
        machine.checkIdle(left::add);
        for (VerbsDevice device : devices) {
            if (held(device).stream().anyMatch(n -> n != 0)) {
                left.add(device + " holds " + held(device));
            }
        }
        if (pinsHeld() != 0 || process.addressSpace().pinnedVm() != 0) {
            left.add(pinsHeld() + " pins, " + process.addressSpace().pinnedVm() + " charged");
        }
        if (!kind.backend.startsWith("iommu") && machine.pages().allocatedPages() != pagesAtStart) {
            left.add(machine.pages().allocatedPages() - pagesAtStart + " pages");
        }
        return left;
    }

    @Override
    public void close() {
        machine.close();
    }
}
