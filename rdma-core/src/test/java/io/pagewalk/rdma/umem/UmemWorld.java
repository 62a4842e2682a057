package io.pagewalk.rdma.umem;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.IbDma;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.Pins;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserFile;
import io.pagewalk.rdma.mm.UserMemory;
import org.jspecify.annotations.Nullable;

/** A small machine with one process, and a device that is software or stands on a bus. */
final class UmemWorld {
    static final int PAGE = 0x1000;

    final Machine machine;
    final Process process;
    final IbDevice device;
    final Umems umems;
    final Pins pins;
    final UmemResult result = new UmemResult();

    private UmemWorld(Machine machine, IbDevice device) {
        this.machine = machine;
        this.device = device;
        process = Process.create(machine);
        umems = Umems.of(machine);
        pins = UserMemory.of(machine).pins();
    }

    static MachineBuilder builder(String backend) {
        return Machine.builder().ramBytes(64L << 20).chunkBytes(1 << 16).backend(backend);
    }

    /** With a device that is software. */
    static UmemWorld software() {
        return software(builder("direct"));
    }

    static UmemWorld software(KernelModel model) {
        return software(builder("direct").kernelModel(model));
    }

    static UmemWorld software(MachineBuilder builder) {
        Machine machine = builder.build();
        return new UmemWorld(machine, IbDevice.withoutDmaDevice("rxe0", machine));
    }

    /** With a device on a bus. */
    static UmemWorld onBus(MachineBuilder builder, DeviceConfig config) {
        Machine machine = builder.build();
        return new UmemWorld(machine, IbDevice.withDmaDevice("irdma0", machine.addDevice(config)));
    }

    static UmemWorld onBus(DeviceConfig config) {
        return onBus(builder("direct"), config);
    }

    Device busDevice() {
        Device found = device.dmaDevice();
        if (found == null) {
            throw new IllegalStateException(device + " is software");
        }
        return found;
    }

    /** What the device reads: over its bus, or, being software, by a pointer into the direct map. */
    void deviceRead(long dmaAddr, byte[] dst, int offset, int length) {
        Device onBus = device.dmaDevice();
        if (onBus == null) {
            machine.cpuMemory().read(pointee(dmaAddr), dst, offset, length);
        } else if (onBus.bus().read(dmaAddr, dst, offset, length) != length) {
            throw new AssertionError("the device cannot read all of " + Addresses.hexRange(dmaAddr, length));
        }
    }

    /** What the device writes: over its bus, or, being software, by a pointer into the direct map. */
    void deviceWrite(long dmaAddr, byte[] src, int offset, int length) {
        Device onBus = device.dmaDevice();
        if (onBus == null) {
            machine.cpuMemory().write(pointee(dmaAddr), src, offset, length);
        } else if (onBus.bus().write(dmaAddr, src, offset, length) != length) {
            throw new AssertionError("the device cannot write all of " + Addresses.hexRange(dmaAddr, length));
        }
    }

    private long pointee(long dmaAddr) {
        return machine.layout().virtToPhys(IbDma.virtDmaToPtr(dmaAddr));
    }

    int get(long userAddr, long sizeBytes, int access) {
        return umems.get(device, 0, process, userAddr, sizeBytes, access, result);
    }

    /** Private anonymous memory of so many pages. */
    long anon(int pages) {
        return process.mmap((long) pages * PAGE);
    }

    /** Anonymous memory of so many pages, each touched, in an order that scatters their frames. */
    long scattered(int pages) {
        long addr = anon(pages);
        for (int start = 0; start < 7; start++) {
            for (int page = start; page < pages; page += 7) {
                process.putLong(addr + (long) page * PAGE, page);
            }
        }
        return addr;
    }

    long map(int pages, int prot, int flags, UserFile.@Nullable Opened file) {
        return process.mmap(0, (long) pages * PAGE, prot, flags, file, 0);
    }

    long mapAnon(int pages, int prot) {
        return map(pages, prot, Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS, null);
    }

    long pinnedVm() {
        return process.addressSpace().pinnedVm();
    }

    long pinsHeld() {
        return pins.acquired() - pins.released();
    }

    boolean isDirty(long pfn) {
        return machine.frames().isDirty(pfn);
    }

    int refCount(long userAddr) {
        return machine.frames().refCount(process.pfnOf(userAddr));
    }

    static long pfn(long physAddr) {
        return physAddr >>> Addresses.PAGE_SHIFT;
    }
}
