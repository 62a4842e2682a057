package io.pagewalk.backends.virt;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackendProvider;
import java.util.List;

/** Makes machines whose devices are software and get kernel virtual addresses. */
public final class VirtProvider implements DmaBackendProvider {
    /** Makes the provider, for the service loader. */
    public VirtProvider() {}

    @Override
    public List<Variant> variants() {
        return List.of(new Variant("virt", "software devices: DMA addresses are kernel virtual addresses"));
    }

    @Override
    public int order() {
        return 30;
    }

    @Override
    public DmaBackend create(String variant, Machine machine, BackendOptions options) {
        return new VirtBackend(machine);
    }
}
