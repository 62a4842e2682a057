package io.pagewalk.benchmarks;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
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
 * What the front end adds to a backend's map and unmap when nothing watches: the same loop through {@code Dma} and, as
 * the baseline, through the {@code DmaOps} that it calls.
 *
 * <p>Hypothesis: a check of the direction, a check of the mask and two tests of a null listener, so that the pair costs
 * no more than a tenth more. A regression here is paid by everybody, whether they look for misuse or not. Each measured
 * call is a batch of {@value BenchmarkMachine#BATCH} operations: divide.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class FrontEndBenchmark {
    /** The backend. */
    @Param({"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    public String backend = "direct";

    private final long[] physAddrs = BenchmarkMachine.buffers();
    private Machine machine = BenchmarkMachine.of("direct");
    private Device device = BenchmarkMachine.device(machine);
    private Dma dma = device.dma();
    private Machine host = BenchmarkMachine.of("virt");
    private Device bareDevice = BenchmarkMachine.device(host);
    private DmaBackend bare = BenchmarkMachine.backend("direct", host);
    private DmaOps ops = bare.attach(bareDevice);

    /** Makes a machine on the backend, and the bare backend on a machine that has another. */
    @Setup(Level.Trial)
    public void open() {
        machine = BenchmarkMachine.of(backend);
        device = BenchmarkMachine.device(machine);
        dma = device.dma();
        host = BenchmarkMachine.of("virt");
        bareDevice = BenchmarkMachine.device(host);
        bare = BenchmarkMachine.backend(backend, host);
        ops = bare.attach(bareDevice);
    }

    /** Closes both. */
    @TearDown(Level.Trial)
    public void close() {
        machine.close();
        bare.close();
        host.close();
    }

    /**
     * Maps and unmaps 4 KiB through the backend's own operations.
     *
     * @return something to keep
     */
    @Benchmark
    public long baseline() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            long dmaAddr = ops.mapPage(bareDevice, 0, physAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            requireMapped(dmaAddr);
            ops.unmapPage(bareDevice, 0, dmaAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            sum += dmaAddr;
        }
        return sum;
    }

    /**
     * The same through the driver's handle.
     *
     * @return something to keep
     */
    @Benchmark
    public long mapUnmapPage() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            long dmaAddr = dma.mapPage(physAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            requireMapped(dmaAddr);
            dma.unmapPage(dmaAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            sum += dmaAddr;
        }
        return sum;
    }

    private static void requireMapped(long dmaAddr) {
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            throw new IllegalStateException("a mapping failed");
        }
    }
}
