package io.pagewalk.backends.iommu;

import io.pagewalk.backends.iommu.driver.VtdDriver;
import io.pagewalk.backends.iommu.mapping.IommuBackend;
import io.pagewalk.backends.swiotlb.SwiotlbBoot;
import io.pagewalk.backends.swiotlb.SwiotlbPool;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackendProvider;
import java.util.List;

/**
 * Makes machines with a VT-d unit. The variant says whether unmaps are strict or lazy, whatever the command line says
 * of it; of the command line {@code iommu.forcedac} and {@code intel_iommu=forcedac} count (iommu:DINIT-12).
 */
public final class IommuProvider implements DmaBackendProvider {
    private static final String STRICT = "iommu-strict";
    private static final String LAZY = "iommu-lazy";
    private static final int ORDER = 20;

    /** Makes the provider, for the service loader. */
    public IommuProvider() {}

    @Override
    public List<Variant> variants() {
        return List.of(
                new Variant(STRICT, "VT-d, every unmap invalidated at once"),
                new Variant(LAZY, "VT-d, unmaps flushed together (flush queue)"));
    }

    @Override
    public int order() {
        return ORDER;
    }

    @Override
    public DmaBackend create(String variant, Machine machine, BackendOptions options) {
        SwiotlbPool pool = SwiotlbBoot.boot(machine, options, false).defaultMem();
        return new IommuBackend(machine, new VtdDriver(machine, options), pool, variant.equals(LAZY));
    }
}
