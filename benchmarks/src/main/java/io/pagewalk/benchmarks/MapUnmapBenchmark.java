package io.pagewalk.benchmarks;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What one map and unmap costs a driver on each backend.
 *
 * <p>Hypothesis: direct is a mask check; virt an addition; the IOMMUs pay for an address, a table entry and (strict) an
 * invalidation through the queue; swiotlb pays for a slot search and for copying. The baseline walks the same buffers
 * and does nothing else. A regression here is felt by every mapping of a replay. Each measured call is a batch of
 * {@value BenchmarkMachine#BATCH} operations: divide.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class MapUnmapBenchmark {
    private static final int SG_ENTRIES = 16;

    /** The backend. */
    @Param({"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    public String backend = "direct";

    private final long[] physAddrs = BenchmarkMachine.buffers();
    private final SgTable sg = new SgTable(SG_ENTRIES);
    private Machine machine = BenchmarkMachine.of("direct");
    private Dma dma = BenchmarkMachine.device(machine).dma();

    /** Makes the machine. */
    @Setup(Level.Trial)
    public void open() {
        machine = BenchmarkMachine.of(backend);
        dma = BenchmarkMachine.device(machine).dma();
        sg.clear();
        for (int i = 0; i < SG_ENTRIES; i++) {
            sg.add(physAddrs[i], 4096);
        }
    }

    /** Closes the machine and makes sure that the benchmark measured successes. */
    @TearDown(Level.Trial)
    public void close() {
        machine.close();
    }

    /**
     * The loop without the calls.
     *
     * @return something to keep
     */
    @Benchmark
    public long baseline() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            sum += physAddr;
        }
        return sum;
    }

    /**
     * Maps and unmaps 4 KiB, towards the device.
     *
     * @return something to keep
     */
    @Benchmark
    public long mapUnmapPage() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            long dmaAddr = dma.mapPage(physAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            requireMapped(dmaAddr != Dma.DMA_MAPPING_ERROR);
            dma.unmapPage(dmaAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            sum += dmaAddr;
        }
        return sum;
    }

    /**
     * Maps and unmaps a list of 16 entries of 4 KiB that lie apart, {@value BenchmarkMachine#BATCH} entries in all.
     *
     * @return something to keep
     */
    @Benchmark
    public long mapUnmapSg() {
        long sum = 0;
        for (int i = 0; i < BenchmarkMachine.BATCH / SG_ENTRIES; i++) {
            int segments = dma.mapSg(sg, SG_ENTRIES, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            requireMapped(segments > 0);
            dma.unmapSg(sg, SG_ENTRIES, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            sum += segments;
        }
        return sum;
    }

    private void requireMapped(boolean mapped) {
        if (!mapped) {
            throw new IllegalStateException("a mapping failed: " + dma.lastFailure());
        }
    }
}
