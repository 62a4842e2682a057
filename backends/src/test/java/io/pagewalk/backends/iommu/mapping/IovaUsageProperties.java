package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

class IovaUsageProperties {
    @Property(tries = 200)
    void peakIsTheLargestSumThereEverWas(@ForAll long seed, @ForAll @IntRange(min = 1, max = 4) int cpus) {
        IovaUsage usage = new IovaUsage(cpus);
        Random random = new Random(seed);
        long held = 0;
        long peak = 0;
        for (int i = 0; i < 2000; i++) {
            long size = 1L + random.nextInt(50);
            if (held >= size && random.nextInt(5) < 2) {
                usage.give(random.nextInt(cpus), size);
                held -= size;
            } else {
                usage.take(random.nextInt(cpus), size);
                held += size;
            }
            peak = Math.max(peak, held);
            assertThat(usage.heldBytes()).isEqualTo(held);
            assertThat(usage.peakBytes()).isEqualTo(peak);
        }
    }
}
