package io.pagewalk.backends.iommu.driver;

import io.pagewalk.backends.iommu.unit.VtdFeatures;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The units of a machine, and which of them a device's requests meet.
 *
 * <p>Options: {@code iommu.units}, 1 by default; {@code iommu.unitOfBus<n>}, the unit (from 0) that the requests of a
 * bus meet, where {@code <n>} is the bus in decimal. Buses that none is said of meet the last unit, as the scope of the
 * last one in firmware's table is "all the rest". Immutable.
 */
final class VtdUnits {
    private static final int MOST = 64;
    private static final int BUSES = 256;

    private final List<VtdIommu> all;
    private final int[] ofBus;

    private VtdUnits(List<VtdIommu> all, int[] ofBus) {
        this.all = List.copyOf(all);
        this.ofBus = ofBus;
    }

    /**
     * Sets the units up.
     *
     * @throws IllegalArgumentException when an option is out of range
     */
    static VtdUnits create(Machine machine, BackendOptions options, KernelPages pages) {
        long count = options.number("iommu.units", 1);
        if (count < 1 || count > MOST) {
            throw new IllegalArgumentException("a machine has 1 to " + MOST + " VT-d units, not " + count);
        }
        int[] ofBus = IntStream.range(0, BUSES)
                .map(bus -> unitOfBus(options, bus, (int) count))
                .toArray();
        List<VtdIommu> all = new ArrayList<>();
        for (int unit = 0; unit < count; unit++) {
            VtdFeatures features = VtdFeatures.of(options, unit);
            all.add(new VtdIommu(machine, features, pages, id -> isPresent(machine, id)));
        }
        return new VtdUnits(all, ofBus);
    }

    private static int unitOfBus(BackendOptions options, int bus, int count) {
        long unit = options.number("iommu.unitOfBus" + bus, count - 1L);
        if (unit < 0 || unit >= count) {
            throw new IllegalArgumentException(
                    "bus " + bus + " meets unit " + unit + ", but there are units 0 to " + (count - 1));
        }
        return (int) unit;
    }

    private static boolean isPresent(Machine machine, int requesterId) {
        return machine.devices().stream().anyMatch(device -> device.requesterId() == requesterId);
    }

    List<VtdIommu> all() {
        return all;
    }

    /** The unit that a device's requests meet: that of the id they carry where they leave the bus. */
    VtdIommu of(Device device) {
        int carried = device.config().pciPlace().carriedId(device.requesterId());
        return all.get(ofBus[carried >>> 8]);
    }
}
