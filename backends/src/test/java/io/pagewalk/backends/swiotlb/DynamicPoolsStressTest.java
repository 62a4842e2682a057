package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

/** Threads that share a tiny allocator, while time goes on: it grows, and transient pools come and go. */
class DynamicPoolsStressTest {
    private static final int THREADS = 3;
    private static final int ROUNDS = 3_000;
    private static final int MOST_BYTES = 0x1_8000;

    private final DynamicWorld world = new DynamicWorld(1, 128, 1);
    private final ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();

    @Test
    void mappingsKeepTheirBytesWhilePoolsComeAndGo() throws InterruptedException {
        List<Device> devices = List.of(world.device("first"), world.device("second"));
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
            int cpu = t;
            threads.add(new Thread(() -> run(devices.get(cpu % 2), cpu)));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(wrong).isEmpty();
        world.machine.clock().advance(TransientPools.GRACE_NANOS);
        assertThat(world.held()).isEmpty();
        assertThat(world.broken()).isEmpty();
        assertThat(world.pool.transientSlots()).isZero();
        // Whether there was room to grow at the moment of the work depends on the threads; what was taken for it does
        // not.
        assertThat(world.allocatedPages()).isEqualTo((world.pool.slots() - 128) / 2);
    }

    /**
     * Each thread alone needs more than the first pool has, for mappings whose bounce buffers hold its own pattern; one
     * of them moves time.
     */
    private void run(Device device, int cpu) {
        SplittableRandom random = new SplittableRandom(cpu);
        long[] tlbAddrs = new long[8];
        int[] sizes = new int[tlbAddrs.length];
        long orig = 0x10_0000L + cpu * 0x2_0000L;
        world.fill(orig, 0x2_0000, cpu + 1);
        for (int round = 0; round < ROUNDS; round++) {
            int at = random.nextInt(tlbAddrs.length);
            if (tlbAddrs[at] > 0) {
                check(cpu, tlbAddrs[at], sizes[at]);
                world.unmap(device, tlbAddrs[at], sizes[at]);
            }
            sizes[at] = random.nextInt(1, MOST_BYTES);
            tlbAddrs[at] = world.pool.map(device, cpu, orig, sizes[at], 0, DmaDirection.TO_DEVICE, 0);
            if (cpu == 0 && round % 500 == 0) {
                world.machine.clock().advance(TransientPools.GRACE_NANOS / 2);
            }
        }
        for (int at = 0; at < tlbAddrs.length; at++) {
            if (tlbAddrs[at] > 0) {
                check(cpu, tlbAddrs[at], sizes[at]);
                world.unmap(device, tlbAddrs[at], sizes[at]);
            }
        }
    }

    private void check(int cpu, long tlbAddr, int size) {
        byte first = world.machine.cpuMemory().getByte(tlbAddr);
        byte last = world.machine.cpuMemory().getByte(tlbAddr + size - 1);
        if (first != cpu + 1 || last != cpu + 1) {
            wrong.add("CPU " + cpu + " found " + first + " and " + last);
        }
    }
}
