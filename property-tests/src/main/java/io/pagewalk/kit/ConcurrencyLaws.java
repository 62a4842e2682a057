package io.pagewalk.kit;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/**
 * What holds when CPUs map and devices transfer at once. The schedule is the machine's, the values come from a seed.
 */
public interface ConcurrencyLaws extends WorldSource {
    /** Maps of one CPU in one try. */
    int ROUNDS = 150;

    /** The valid directions. */
    List<DmaDirection> DIRECTIONS =
            List.of(DmaDirection.BIDIRECTIONAL, DmaDirection.TO_DEVICE, DmaDirection.FROM_DEVICE);

    /**
     * Two CPUs that map, transfer and unmap for the same device at once, in buffers that lie alternately in the same
     * pages, keep their bytes apart, and leave nothing behind.
     *
     * @param machines the try's machines
     * @param world the world
     * @param config the device
     * @param seed of sizes and directions
     * @throws InterruptedException when the test is stopped
     * @throws ExecutionException when a law is broken on one of the CPUs
     */
    @Law
    @Property(tries = 20, edgeCases = EdgeCasesMode.NONE)
    default void twoCpusAtOnceKeepTheirBytesApart(
            TestMachines machines, @ForAll("worlds") SmallWorld world, @ForAll DeviceConfig config, @ForAll long seed)
            throws InterruptedException, ExecutionException {
        Machine machine = machines.start(world);
        Device device = machine.addDevice(config);
        ExecutorService cpus = Executors.newFixedThreadPool(SmallWorld.CPUS);
        try {
            List<Callable<Void>> drivers = List.of(driver(device, 0, seed), driver(device, 1, seed));
            for (Future<Void> done : cpus.invokeAll(drivers)) {
                done.get();
            }
        } finally {
            cpus.shutdownNow();
        }
        DmaInvariants.checkIdle(machine);
    }

    private static Callable<Void> driver(Device device, int cpu, long seed) {
        return () -> {
            drive(device, cpu, new SplittableRandom(seed + cpu));
            return null;
        };
    }

    private static void drive(Device device, int cpu, SplittableRandom random) {
        Deque<CheckedMapping> live = new ArrayDeque<>();
        for (int round = 0; round < ROUNDS; round++) {
            CheckedMapping mapping = mapOne(device, cpu, random, round);
            if (mapping.isLive()) {
                live.add(mapping);
                transfer(mapping);
            }
            if (live.size() > 3) {
                live.remove().unmap(cpu);
            }
        }
        live.forEach(m -> m.unmap(cpu));
    }

    private static CheckedMapping mapOne(Device device, int cpu, SplittableRandom random, int round) {
        int stride = 3000;
        long physAddr = SmallWorld.ARENAS.get(random.nextInt(2)).first() + (2L * (round % 8) + cpu) * stride;
        DmaDirection direction = DIRECTIONS.get(random.nextInt(DIRECTIONS.size()));
        if (random.nextInt(3) == 0) {
            Buffer front = new Buffer(physAddr, 1000);
            Buffer back = new Buffer(physAddr + 1000, 1 + random.nextInt(stride - 1000));
            return CheckedMapping.sg(device, cpu, new Segments(List.of(back, front)), direction, round);
        }
        return CheckedMapping.page(device, cpu, new Buffer(physAddr, 1 + random.nextInt(stride)), direction, round);
    }

    private static void transfer(CheckedMapping mapping) {
        if (mapping.direction().deviceReads()) {
            mapping.deviceReadsTheModel();
        }
        if (mapping.direction().deviceWrites()) {
            mapping.deviceWrites(new Part(Part.WHOLE / 3, Part.WHOLE / 2));
        }
    }
}
