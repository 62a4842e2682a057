package io.pagewalk.backends.direct;

import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.MetricSink;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** A machine without an IOMMU: dma-direct with its bounce pool. */
final class DirectBackend implements DmaBackend {
    private final SwiotlbPool pool;
    private final DirectOps ops;
    private final Map<Device, BusPort> ports = new ConcurrentHashMap<>();

    DirectBackend(Machine machine, SwiotlbPool pool) {
        this.pool = pool;
        this.ops = new DirectOps(machine, pool);
    }

    @Override
    public DmaOps attach(Device device) {
        return ops;
    }

    @Override
    public BusPort port(Device device) {
        return ports.computeIfAbsent(device, d -> new DirectPort(d.config().busRanges()));
    }

    @Override
    public void report(MetricSink sink) {
        pool.report(sink);
    }

    /** Only where everything is bounced has every live mapping slots of its own. */
    @Override
    public boolean ownsAddresses() {
        return pool.isForced();
    }

    @Override
    public void checkStructure(Consumer<String> violation) {
        pool.checkStructure(violation);
    }

    @Override
    public void checkIdle(Consumer<String> violation) {
        pool.checkIdle(violation);
        ops.coherent().checkIdle(violation);
    }
}
