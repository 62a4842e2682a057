package io.pagewalk.kit;

import io.pagewalk.dma.memory.CpuCacheOptions;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.PropertyDefaults;
import net.jqwik.api.Provide;

/**
 * The laws for machines with a CPU cache that half of the devices do not snoop: a driver whose syncs are right sees the
 * same bytes as without a cache, however small the cache is. Not the laws of concurrency, whose buffers share lines.
 */
@PropertyDefaults(tries = 60)
class CpuCacheProperties implements PageLaws, ListLaws, AddressLaws, CoherentLaws, FailureLaws, ProgramLaws {
    @Override
    @Provide
    public Arbitrary<SmallWorld> worlds() {
        Arbitrary<CpuCacheOptions> caches = Combinators.combine(
                        Arbitraries.of(64, 16, 256), Arbitraries.of(8192, 8192, 64, 1))
                .as(CpuCacheOptions::new);
        return Combinators.combine(Arbitraries.of("swiotlb", "direct", "iommu-strict", "iommu-lazy", "virt"), caches)
                .as((backend, cache) -> SmallWorld.of(backend).withCpuCache(cache));
    }
}
