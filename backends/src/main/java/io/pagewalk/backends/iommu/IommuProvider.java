package io.pagewalk.backends.iommu;

import io.pagewalk.backends.direct.DirectProvider;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.backends.iommu.driver.VtdDriver;
import io.pagewalk.backends.iommu.mapping.IommuBackend;
import io.pagewalk.backends.iommu.mapping.IommuBoot;
import io.pagewalk.backends.swiotlb.Swiotlb;
import io.pagewalk.backends.swiotlb.SwiotlbBoot;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaBackendProvider;
import java.util.List;

/**
 * Makes machines with a VT-d unit.
 *
 * <p>{@code iommu} does what the machine's command line and configuration say: {@code intel_iommu=}, {@code iommu=},
 * {@code iommu.passthrough=}, {@code iommu.strict=} and {@code iommu.forcedac=} (iommu:CORE-2, CORE-3, DINIT-12).
 * Without any of them unmaps are lazy, as on x86. With the IOMMU off it is {@code direct}.
 *
 * <p>The variants {@code iommu-strict} and {@code iommu-lazy} are for comparing one with the other: the variant says
 * what trusted devices get, whatever the command line says of that; of the command line {@code iommu.forcedac} and
 * {@code intel_iommu=forcedac,sp_off} still count.
 */
public final class IommuProvider implements DmaBackendProvider {
    private static final String STRICT = "iommu-strict";
    private static final String LAZY = "iommu-lazy";
    private static final String BY_COMMAND_LINE = "iommu";
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
    public List<Variant> aliases() {
        return List.of(new Variant(BY_COMMAND_LINE, "VT-d as the kernel command line has it"));
    }

    @Override
    public int order() {
        return ORDER;
    }

    @Override
    public DmaBackend create(String variant, Machine machine, BackendOptions options) {
        IommuBoot boot = switch (variant) {
            case STRICT -> IommuBoot.fixed(machine, IommuDomainType.DMA);
            case LAZY -> IommuBoot.fixed(machine, IommuDomainType.DMA_FQ);
            default -> IommuBoot.of(machine);
        };
        if (boot.off()) {
            return new DirectProvider().create("direct", machine, options);
        }
        Swiotlb swiotlb = SwiotlbBoot.boot(machine, options, false);
        return new IommuBackend(machine, new VtdDriver(machine, options), swiotlb, boot);
    }
}
