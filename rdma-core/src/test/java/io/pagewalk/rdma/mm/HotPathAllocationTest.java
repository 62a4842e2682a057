package io.pagewalk.rdma.mm;

import static io.pagewalk.rdma.mm.World.LONGTERM;
import static io.pagewalk.rdma.mm.World.LONG_WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import org.junit.jupiter.api.Test;

/** Pinning pages that are present, and unpinning them, allocates nothing. */
class HotPathAllocationTest {
    private static final int ROUNDS = 2_000;
    private static final int GOES = 5;
    private static final int BATCH = 16;
    private static final double BOUND = 0.05;

    private final Object threads;
    private final Method allocatedBytes;

    HotPathAllocationTest() throws ReflectiveOperationException {
        Class<?> factory = Class.forName("java.lang.management.ManagementFactory");
        threads = factory.getMethod("getThreadMXBean").invoke(null);
        allocatedBytes =
                Class.forName("com.sun.management.ThreadMXBean").getMethod("getThreadAllocatedBytes", long.class);
    }

    private long allocated() throws ReflectiveOperationException {
        return (long) allocatedBytes.invoke(threads, Thread.currentThread().getId());
    }

    @Test
    void pinAndUnpinOfPresentPagesAllocateNothing() throws ReflectiveOperationException {
        try (World world = new World()) {
            long address = world.touched(BATCH);
            long[] pfns = new long[BATCH];
            double least = Double.MAX_VALUE;
            for (int go = 0; go < GOES && least >= BOUND; go++) {
                long before = allocated();
                for (int i = 0; i < ROUNDS; i++) {
                    world.process.pinUserPagesFast(address, BATCH, (i & 1) == 0 ? LONGTERM : LONG_WRITE, pfns);
                    world.pins.unpinUserPagesDirtyLock(pfns, BATCH, (i & 1) != 0);
                }
                least = Math.min(least, (double) (allocated() - before) / (ROUNDS * BATCH));
            }
            assertThat(least).isLessThan(BOUND);
        }
    }
}
