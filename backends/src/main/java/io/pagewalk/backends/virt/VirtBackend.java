package io.pagewalk.backends.virt;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.MetricSink;
import java.util.function.Consumer;

/** A machine whose devices are software. */
final class VirtBackend implements DmaBackend {
    private final VirtOps ops;
    private final VirtPort port;

    VirtBackend(Machine machine) {
        ops = new VirtOps(machine);
        port = new VirtPort(machine.layout());
    }

    @Override
    public DmaOps attach(Device device) {
        return ops;
    }

    @Override
    public BusPort port(Device device) {
        return port;
    }

    @Override
    public void report(MetricSink sink) {
        // It copies, translates and flushes nothing that could be counted.
    }

    @Override
    public void checkStructure(Consumer<String> violation) {
        // It has no structure.
    }

    @Override
    public void checkIdle(Consumer<String> violation) {
        ops.checkIdle(violation);
    }
}
