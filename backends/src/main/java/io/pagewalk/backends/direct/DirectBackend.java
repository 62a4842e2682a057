package io.pagewalk.backends.direct;

import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.MetricSink;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A machine without an IOMMU: dma-direct with its bounce pools. Its parts are its {@link Swiotlb}. */
final class DirectBackend implements DmaBackend {
    private final Swiotlb swiotlb;
    private final DirectCore core;
    private final long encryptionMask;
    private final Map<Device, BusPort> ports = new ConcurrentHashMap<>();

    DirectBackend(Machine machine, Swiotlb swiotlb) {
        this.swiotlb = swiotlb;
        this.core = new DirectCore(machine);
        swiotlb.takeDecryptedFrom(core.atomicPools());
        machine.addHeldSource(swiotlb);
        this.encryptionMask = machine.kernelConfig().arch().encryptionMask();
    }

    @Override
    public DmaOps attach(Device device) {
        return new DirectOps(core, swiotlb.attach(device));
    }

    @Override
    public BusPort port(Device device) {
        return ports.computeIfAbsent(device, d -> new DirectPort(d.config().busRanges(), encryptionMask));
    }

    @Override
    public void report(MetricSink sink) {
        swiotlb.report(sink);
    }

    /** Only where everything is bounced has every live mapping slots of its own. */
    @Override
    public boolean ownsAddresses() {
        return swiotlb.defaultMem().isForced();
    }

    @Override
    public void quiesce() {
        swiotlb.quiesce();
    }

    @Override
    public void checkStructure(Consumer<String> violation) {
        swiotlb.checkStructure(violation);
    }

    @Override
    public void checkIdle(Consumer<String> violation) {
        swiotlb.checkIdle(violation);
        core.checkIdle(violation);
    }

    @Override
    public <T> @Nullable T part(Class<T> type) {
        return type == Swiotlb.class ? type.cast(swiotlb) : null;
    }
}
