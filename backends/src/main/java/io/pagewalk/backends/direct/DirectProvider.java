package io.pagewalk.backends.direct;

import io.pagewalk.backends.swiotlb.SwiotlbBoot;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackendProvider;
import java.util.List;

/** Makes machines without an IOMMU, whose devices reach memory directly or have everything bounced. */
public final class DirectProvider implements DmaBackendProvider {
    private static final String DIRECT = "direct";
    private static final String SWIOTLB = "swiotlb";

    /** Makes the provider, for the service loader. */
    public DirectProvider() {}

    @Override
    public List<Variant> variants() {
        return List.of(
                new Variant(DIRECT, "no IOMMU: physical addresses, bounced where a mask does not reach"),
                new Variant(SWIOTLB, "no IOMMU: every mapping bounced, as with swiotlb=force"));
    }

    @Override
    public int order() {
        return 10;
    }

    @Override
    public DmaBackend create(String variant, Machine machine, BackendOptions options) {
        return new DirectBackend(machine, SwiotlbBoot.boot(machine, options, variant.equals(SWIOTLB)));
    }
}
