package io.pagewalk.benchmarks;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What dma-direct's map and unmap cost above the two interface calls that a choice of backends takes.
 *
 * <p>Hypothesis: direct is a mask check, so that the pair costs no more than three times the bare calls. Both sides are
 * megamorphic: every backend, and every twin, has been called through the same call sites before.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class DispatchBenchmark {
    private static final List<String> BACKENDS = List.of("virt", "iommu-lazy", "iommu-strict", "swiotlb", "direct");
    private static final int MIXED_ROUNDS = 20_000;

    /** The shape of the two backend calls. */
    private interface Twin {
        long map(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs);

        void unmap(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs);
    }

    /** A twin that moves addresses by an offset of its own. */
    private abstract static class Offset implements Twin {
        long unmapped;

        @Override
        public void unmap(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
            unmapped += dmaAddr;
        }
    }

    private static final class Zero extends Offset {
        @Override
        public long map(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
            return physAddr;
        }

        @Override
        public void unmap(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
            unmapped += sizeBytes;
        }
    }

    private static final class One extends Offset {
        @Override
        public long map(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
            return physAddr + 1;
        }

        @Override
        public void unmap(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
            unmapped += sizeBytes + 1;
        }
    }

    private static final class Two extends Offset {
        @Override
        public long map(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
            return physAddr + 2;
        }
    }

    private static final class Three extends Offset {
        @Override
        public long map(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
            return physAddr + 3;
        }

        @Override
        public void unmap(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
            unmapped -= dmaAddr;
        }
    }

    private static final class Four extends Offset {
        @Override
        public long map(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
            return physAddr + 4;
        }

        @Override
        public void unmap(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
            unmapped |= dmaAddr;
        }
    }

    private final long[] physAddrs = BenchmarkMachine.buffers();
    private final List<Machine> machines = new ArrayList<>();
    private final Offset[] twins = {new One(), new Two(), new Three(), new Four(), new Zero()};
    private Device device = BenchmarkMachine.device(BenchmarkMachine.of("direct"));
    private Dma dma = device.dma();
    private Twin twin = twins[0];

    /** Calls every backend and every twin through the measured loops, ending with the ones that are measured. */
    @Setup(Level.Trial)
    public void mixCallSites() {
        for (int round = 0; round < MIXED_ROUNDS; round++) {
            for (Twin each : twins) {
                twin = each;
                callTwin(physAddrs[round % physAddrs.length]);
            }
        }
        for (String backend : BACKENDS) {
            Machine machine = BenchmarkMachine.of(backend);
            machines.add(machine);
            device = BenchmarkMachine.device(machine);
            dma = device.dma();
            for (int round = 0; round < MIXED_ROUNDS; round++) {
                mapAndUnmap(physAddrs[round % physAddrs.length]);
            }
        }
    }

    /** Closes the machines and makes sure that no twin was left out. */
    @TearDown(Level.Trial)
    public void close() {
        machines.forEach(Machine::close);
        for (Offset each : twins) {
            if (each.unmapped == 0) {
                throw new IllegalStateException(each.getClass().getSimpleName() + " was never called");
            }
        }
    }

    /**
     * The two interface calls alone.
     *
     * @return something to keep
     */
    @Benchmark
    public long baselineInterfaceCalls() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            sum += callTwin(physAddr);
        }
        return sum;
    }

    private long callTwin(long physAddr) {
        Twin called = twin;
        long dmaAddr = called.map(device, 0, physAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        called.unmap(device, 0, dmaAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        return dmaAddr;
    }

    /**
     * Maps and unmaps 4 KiB on dma-direct.
     *
     * @return something to keep
     */
    @Benchmark
    public long mapUnmapPage() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            sum += mapAndUnmap(physAddr);
        }
        return sum;
    }

    private long mapAndUnmap(long physAddr) {
        long dmaAddr = dma.mapPage(physAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            throw new IllegalStateException("a mapping failed: " + dma.lastFailure());
        }
        dma.unmapPage(dmaAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        return dmaAddr;
    }
}
