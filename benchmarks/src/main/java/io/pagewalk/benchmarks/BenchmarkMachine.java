package io.pagewalk.benchmarks;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackends;

/** The one machine all benchmarks use: 8 GiB, 2 CPUs, one PCI device with a 64-bit mask, buffers above 4 GiB. */
final class BenchmarkMachine {
    /** Operations in one measured call; JMH's samples are divided by it afterwards. */
    static final int BATCH = 256;

    private static final long BUFFERS = 0x1_4000_0000L;
    private static final long STRIDE = 0x3000;

    private BenchmarkMachine() {}

    static Machine of(String backend) {
        return builder(backend).build();
    }

    static MachineBuilder builder(String backend) {
        return Machine.builder().ramBytes(8L << 30).cpus(2).backend(backend);
    }

    /** A backend without the machine's front end. */
    static DmaBackend backend(String name, Machine host) {
        return DmaBackends.byName(name).provider().create(name, host, BackendOptions.NONE);
    }

    static Device device(Machine machine) {
        Device device = machine.addDevice(DeviceConfig.named("bench"));
        if (device.setMaskAndCoherent(-1L) != 0) {
            throw new IllegalStateException("the 64-bit mask was refused");
        }
        return device;
    }

    /** Buffers that are neither adjacent nor in one large page: 12 KiB apart. */
    static long[] buffers() {
        long[] physAddrs = new long[BATCH];
        for (int i = 0; i < BATCH; i++) {
            physAddrs[i] = BUFFERS + i * STRIDE;
        }
        return physAddrs;
    }
}
