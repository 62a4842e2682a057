package io.pagewalk.backends.swiotlb;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

/** Threads that share a pool, so small that they meet in each other's areas. */
class SwiotlbPoolStressTest {
    private static final int THREADS = 4;
    private static final int ROUNDS = 4_000;

    private final PoolWorld world = new PoolWorld(256, 2);
    private final ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();

    @Test
    void concurrentMappingsNeverShareASlot() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
            int cpu = t;
            Device device = world.device(t % 2 == 0 ? 0 : 0xfff);
            Thread thread = new Thread(() -> run(device, cpu));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(wrong).isEmpty();
        world.assertIdle();
    }

    /** Each thread keeps a few mappings alive, whose bounce buffers hold its own pattern. */
    private void run(Device device, int cpu) {
        SplittableRandom random = new SplittableRandom(cpu);
        long[] tlbAddrs = new long[6];
        int[] sizes = new int[tlbAddrs.length];
        long orig = 0x10_0000L + cpu * 0x1_0000L;
        world.fill(orig, 0x1_0000, cpu + 1);
        for (int round = 0; round < ROUNDS; round++) {
            int at = random.nextInt(tlbAddrs.length);
            if (tlbAddrs[at] > 0) {
                check(cpu, tlbAddrs[at], sizes[at]);
                world.pool.unmap(device, cpu, tlbAddrs[at], sizes[at], DmaDirection.TO_DEVICE, 0);
            }
            sizes[at] = random.nextInt(1, 0xa000);
            tlbAddrs[at] =
                    world.pool.map(device, cpu, orig + random.nextInt(0x1000), sizes[at], 0, DmaDirection.TO_DEVICE, 0);
        }
        for (int at = 0; at < tlbAddrs.length; at++) {
            if (tlbAddrs[at] > 0) {
                world.pool.unmap(device, cpu, tlbAddrs[at], sizes[at], DmaDirection.TO_DEVICE, 0);
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
