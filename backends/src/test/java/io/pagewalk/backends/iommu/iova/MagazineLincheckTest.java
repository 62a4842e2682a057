package io.pagewalk.backends.iommu.iova;

import io.pagewalk.dma.Machine;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Test;

/**
 * The magazines of two CPUs and the depot between them take in and hand out as if calls came one after the other
 * (iommu:RC-5 to RC-10). Magazines of one entry let nearly every call swap them or go to the depot; both threads may be
 * on either CPU, as a caller that is moved in the middle of a call is.
 */
public class MagazineLincheckTest {
    /** 1 in an ordinary build, more where properties are tried more often. */
    private static final int SCALE = Math.max(1, Integer.getInteger("jqwik.tries.default", 200) / 1000);

    private final Machine machine = Machine.builder()
            .ramBytes(1 << 20)
            .chunkBytes(1 << 16)
            .commandLine("swiotlb=noforce")
            .build();
    private final IovaRcache cache =
            new IovaRcache(2, 1, machine.clock(), machine.failures().point("iommu.magazine"), pfn -> {});

    /** Used by lincheck, which makes a cache for each scenario. */
    public MagazineLincheckTest() {}

    @Operation
    public boolean insert(
            @Param(gen = IntGen.class, conf = "0:1") int cpu, @Param(gen = IntGen.class, conf = "1:9") int pfn) {
        return cache.insert(cpu, pfn);
    }

    @Operation
    public long get(@Param(gen = IntGen.class, conf = "0:1") int cpu) {
        return cache.get(cpu, Long.MAX_VALUE);
    }

    @Test
    void callersUnderStressComeOneAfterTheOther() {
        new StressOptions()
                .iterations(4 * SCALE)
                .invocationsPerIteration(50)
                .threads(2)
                .actorsPerThread(3)
                .actorsBefore(4)
                .actorsAfter(3)
                .check(MagazineLincheckTest.class);
    }
}
