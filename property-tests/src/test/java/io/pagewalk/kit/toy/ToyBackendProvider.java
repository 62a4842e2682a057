package io.pagewalk.kit.toy;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackendProvider;
import java.util.List;

/** Offers the backend {@code toy}. */
public final class ToyBackendProvider implements DmaBackendProvider {
    /** Used by the service loader. */
    public ToyBackendProvider() {}

    @Override
    public List<Variant> variants() {
        return List.of(new Variant("toy", "a sorted map of ranges, for tests"));
    }

    @Override
    public DmaBackend create(String variant, Machine machine, BackendOptions options) {
        return new ToyBackend(machine);
    }
}
