package io.pagewalk.kit.planted;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackendProvider;
import io.pagewalk.dma.spi.DmaBackends;
import java.util.Arrays;
import java.util.List;

/** Offers a backend for each {@link PlantedFault}; only a class loader that has the {@code planted} folder finds it. */
public final class PlantedFaultProvider implements DmaBackendProvider {
    /** Used by the service loader. */
    public PlantedFaultProvider() {}

    @Override
    public List<Variant> variants() {
        return Arrays.stream(PlantedFault.values())
                .map(fault -> new Variant(fault.backend(), "a planted fault"))
                .toList();
    }

    @Override
    public DmaBackend create(String variant, Machine machine, BackendOptions options) {
        PlantedFault fault = Arrays.stream(PlantedFault.values())
                .filter(f -> f.backend().equals(variant))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException(variant));
        DmaBackend host = DmaBackends.byName(fault.host()).provider().create(fault.host(), machine, options);
        return new FaultyBackend(machine, host, fault);
    }
}
