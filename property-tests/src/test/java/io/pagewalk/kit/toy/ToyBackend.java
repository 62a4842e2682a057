package io.pagewalk.kit.toy;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BusPort;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import io.pagewalk.dma.spi.MetricSink;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A small honest backend: each device has its own addresses, lowest first, and reaches what is mapped and nothing else.
 */
final class ToyBackend implements DmaBackend {
    private final Machine machine;
    private final Map<Device, ToyRanges> rangesByDevice = new LinkedHashMap<>();

    ToyBackend(Machine machine) {
        this.machine = machine;
    }

    @Override
    public DmaOps attach(Device device) {
        ToyRanges ranges = new ToyRanges();
        rangesByDevice.put(device, ranges);
        return new ToyOps(ranges, machine);
    }

    @Override
    public BusPort port(Device device) {
        @Nullable ToyRanges ranges = rangesByDevice.get(device);
        if (ranges == null) {
            throw new IllegalArgumentException(device + " is not attached");
        }
        return ranges;
    }

    @Override
    public void report(MetricSink sink) {}

    @Override
    public boolean ownsAddresses() {
        return true;
    }

    @Override
    public boolean blocksAfterUnmap() {
        return true;
    }

    @Override
    public void checkStructure(Consumer<String> violation) {
        rangesByDevice.forEach((device, ranges) -> ranges.checkOrder(device.name(), violation));
    }

    @Override
    public void checkIdle(Consumer<String> violation) {
        rangesByDevice.forEach((device, ranges) -> {
            if (ranges.count() != 0) {
                violation.accept(device + " holds " + ranges.count() + " ranges");
            }
        });
    }
}
