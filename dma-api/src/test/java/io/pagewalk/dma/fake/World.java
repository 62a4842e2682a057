package io.pagewalk.dma.fake;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.List;
import java.util.function.UnaryOperator;

/** A small machine on a fake backend: 32 KiB of RAM at 0, as much at 0x10000, and a page and 5 bytes at 0x20000. */
public final class World {
    public static final RamMap RAM = RamMap.of(
            PhysRange.ofSize(0, 0x8000), PhysRange.ofSize(0x10000, 0x8000), PhysRange.ofSize(0x20000, 0x1005));

    public final Machine machine;
    public final FakeBackend backend;
    public final Device device;
    public final FakePort port;
    public final Dma dma;
    public final DeviceBus bus;

    private World(Machine machine, DeviceConfig config) {
        this.machine = machine;
        this.backend = FakeBackend.of(machine);
        this.device = machine.addDevice(config);
        this.port = backend.port(device);
        this.dma = device.dma();
        this.bus = device.bus();
    }

    public static World make() {
        return make(config -> config);
    }

    public static World make(UnaryOperator<DeviceConfig> change) {
        return new World(builder().build(), change.apply(DeviceConfig.named("nic")));
    }

    public static World make(MachineBuilder builder, UnaryOperator<DeviceConfig> change) {
        return new World(builder.build(), change.apply(DeviceConfig.named("nic")));
    }

    public static World make(MachineBuilder builder) {
        return new World(builder.build(), DeviceConfig.named("nic"));
    }

    /** A device of software, whose addresses never travel over wires. */
    public static World offTheWires(UnaryOperator<DeviceConfig> change) {
        Machine machine = builder()
                .backendOptions(BackendOptions.NONE.with(FakeProvider.ON_WIRES, 0))
                .build();
        return new World(machine, change.apply(DeviceConfig.named("nic")));
    }

    public static MachineBuilder builder() {
        return Machine.builder()
                .ram(RAM)
                .allocatable(List.of(PhysRange.ofSize(0x10000, 0x8000)))
                .chunkBytes(0x1000)
                .cpus(2)
                .backend(FakeProvider.NAME);
    }
}
