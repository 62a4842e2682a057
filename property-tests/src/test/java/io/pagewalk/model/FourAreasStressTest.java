package io.pagewalk.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.kit.DmaInvariants;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.junit.jupiter.api.Test;

/**
 * Two threads for each of four areas, so few slots that they look into each other's areas all the time: no slot is
 * given twice, none is lost, and every byte arrives (dma-core:SWS-20, SWS-9 to SWS-11, SWR-1 to SWR-5).
 */
class FourAreasStressTest {
    private static final int AREAS = 4;
    private static final int THREADS = 2 * AREAS;
    private static final int SLOTS = AREAS * 128;
    private static final int SLOT_BYTES = 0x800;
    private static final long POOL = 0x100_0000;
    private static final long BUFFERS = 0x200_0000;
    private static final int BUFFER_STRIDE = 0x8_0000;
    private static final int ROUNDS = 150 * Math.max(10, Integer.getInteger("jqwik.tries.default", 200) / 20);

    private final Machine machine = Machine.builder()
            .ram(RamMap.of(PhysRange.ofSize(0, 64 << 20)))
            .chunkBytes(1 << 16)
            .cpus(THREADS)
            .backend("swiotlb")
            .commandLine("swiotlb=" + SLOTS + "," + AREAS + ",force")
            .backendOptions(BackendOptions.NONE.with("swiotlb.poolBase", POOL))
            .build();
    private final AtomicIntegerArray owners = new AtomicIntegerArray(SLOTS);

    /** A buffer of a thread, and where a device finds it. */
    private record Mapped(long physAddr, int sizeBytes, long dmaAddr) {}

    @Test
    void noSlotIsLostOrGivenTwice() throws InterruptedException, ExecutionException {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        try {
            List<Callable<Integer>> drivers = new ArrayList<>();
            for (int cpu = 0; cpu < THREADS; cpu++) {
                Driver driver = new Driver(cpu);
                drivers.add(driver::drive);
            }
            int maps = 0;
            for (Future<Integer> done : threads.invokeAll(drivers)) {
                maps += done.get();
            }
            assertThat(maps).as("maps that succeeded").isGreaterThan(ROUNDS);
        } finally {
            threads.shutdownNow();
        }
        DmaInvariants.checkIdle(machine);
        requireEverySlotIsThere();
        machine.close();
    }

    /** After all that, each slot can be had, and no other. */
    private void requireEverySlotIsThere() {
        Dma dma = machine.addDevice(DeviceConfig.named("counter")).dma();
        for (int i = 0; i < SLOTS; i++) {
            assertThat(dma.mapPage(BUFFERS, 1, DmaDirection.TO_DEVICE, 0)).isNotEqualTo(Dma.DMA_MAPPING_ERROR);
        }
        assertThat(dma.mapPage(BUFFERS, 1, DmaDirection.TO_DEVICE, 0)).isEqualTo(Dma.DMA_MAPPING_ERROR);
    }

    /** One thread with a device of its own. */
    private final class Driver {
        private final int cpu;
        private final Device device;
        private final Dma dma;
        private final SplittableRandom random;
        private final Deque<Mapped> live = new ArrayDeque<>();

        Driver(int cpu) {
            this.cpu = cpu;
            device = machine.addDevice(DeviceConfig.named("dev" + cpu).withMinAlignMask(cpu % 2 == 0 ? 0 : 0xfff));
            dma = device.dma(cpu);
            random = new SplittableRandom(cpu);
        }

        int drive() {
            int maps = 0;
            for (int round = 0; round < ROUNDS; round++) {
                maps += map(round) ? 1 : 0;
                if (live.size() > 12 || random.nextInt(3) == 0) {
                    unmap();
                }
            }
            while (!live.isEmpty()) {
                unmap();
            }
            return maps;
        }

        private boolean map(int round) {
            long physAddr = BUFFERS + (long) cpu * BUFFER_STRIDE + (round % 16) * 0x8000L + random.nextInt(0x1000);
            int size = 1 + random.nextInt(random.nextInt(8) == 0 ? 0x7000 : 0x1800);
            long dmaAddr = dma.mapPage(physAddr, size, DmaDirection.FROM_DEVICE, 0);
            if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
                assertThat(dma.lastFailure().reason()).isIn(FailureReason.POOL_FULL, FailureReason.POOL_FRAGMENTED);
                return false;
            }
            Mapped mapped = new Mapped(physAddr, size, dmaAddr);
            own(mapped, 0, cpu + 1);
            live.add(mapped);
            byte[] bytes = new byte[size];
            Arrays.fill(bytes, (byte) (cpu + 1));
            assertThat(device.bus().write(dmaAddr, bytes, 0, size)).isEqualTo(size);
            return true;
        }

        private void unmap() {
            Mapped mapped = live.poll();
            if (mapped == null) {
                return;
            }
            own(mapped, cpu + 1, 0);
            dma.unmapPage(mapped.dmaAddr(), mapped.sizeBytes(), DmaDirection.FROM_DEVICE, 0);
            byte[] expected = new byte[mapped.sizeBytes()];
            Arrays.fill(expected, (byte) (cpu + 1));
            assertThat(machine.cpuMemory().mismatch(mapped.physAddr(), expected, 0, expected.length))
                    .as("first byte of %s that another thread wrote", mapped)
                    .isEqualTo(-1);
        }

        private void own(Mapped mapped, int from, int to) {
            int first = (int) ((mapped.dmaAddr() - POOL) / SLOT_BYTES);
            int last = (int) ((mapped.dmaAddr() + mapped.sizeBytes() - 1 - POOL) / SLOT_BYTES);
            for (int slot = first; slot <= last; slot++) {
                assertThat(owners.compareAndSet(slot, from, to))
                        .as("slot %d, which thread %d had, is thread %d's", slot, owners.get(slot) - 1, cpu)
                        .isTrue();
            }
        }
    }
}
