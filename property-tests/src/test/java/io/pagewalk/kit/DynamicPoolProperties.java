package io.pagewalk.kit;

import io.pagewalk.dma.KernelConfig;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.PropertyDefaults;
import net.jqwik.api.Provide;

/**
 * The laws for machines whose bounce pool is tiny and grows (dma-core:SWD-1 to SWD-9): whatever pool a mapping is in, its bytes
 * are right, and transient pools leave nothing behind.
 */
@PropertyDefaults(tries = 60)
class DynamicPoolProperties implements DmaLaws {
    /** One set of slots, which a single mapping can fill. */
    private static final String ONE_SET = "swiotlb=128,1";

    private static final KernelConfig DYNAMIC = KernelConfig.distribution().withSwiotlbDynamic(true);

    @Override
    @Provide
    public Arbitrary<SmallWorld> worlds() {
        return Arbitraries.of("swiotlb", "swiotlb", "direct", "iommu-strict", "iommu-lazy")
                .map(backend -> new SmallWorld(backend, ONE_SET, SmallWorld.SMALL_TABLES, DYNAMIC));
    }
}
