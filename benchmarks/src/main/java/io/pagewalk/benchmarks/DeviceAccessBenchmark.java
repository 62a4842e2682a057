package io.pagewalk.benchmarks;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceBus;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
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
 * What a device access costs on each backend: 8 bytes, 64 bytes and 4 KiB, read and written, through live mappings.
 *
 * <p>Hypothesis: without an IOMMU an access is a load from memory plus the checks of wires and RAM; behind one it adds
 * an IOTLB lookup, since 256 mappings of a page fit the cache. The baseline reads the same bytes from memory directly.
 * Each measured call is a batch of {@value BenchmarkMachine#BATCH} accesses: divide.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class DeviceAccessBenchmark {
    private static final int LINE = 64;

    /** The backend. */
    @Param({"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    public String backend = "direct";

    private final long[] physAddrs = BenchmarkMachine.buffers();
    private final long[] dmaAddrs = new long[BenchmarkMachine.BATCH];
    private final byte[] page = new byte[4096];
    private Machine machine = BenchmarkMachine.of("direct");
    private DeviceBus bus = BenchmarkMachine.device(machine).bus();

    /** Makes the machine and maps the buffers. */
    @Setup(Level.Trial)
    public void open() {
        machine = BenchmarkMachine.of(backend);
        Device device = BenchmarkMachine.device(machine);
        bus = device.bus();
        for (int i = 0; i < dmaAddrs.length; i++) {
            machine.cpuMemory().putLong(physAddrs[i], i);
            dmaAddrs[i] = device.dma().mapPage(physAddrs[i], 4096, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            if (dmaAddrs[i] == Dma.DMA_MAPPING_ERROR || bus.readLong(dmaAddrs[i]) != i) {
                throw new IllegalStateException(
                        "buffer " + i + " is not reached: " + device.dma().lastFailure());
            }
        }
    }

    /** Closes the machine. */
    @TearDown(Level.Trial)
    public void close() {
        machine.close();
    }

    /**
     * The same loads from memory, without a bus.
     *
     * @return something to keep
     */
    @Benchmark
    public long baseline() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            sum += machine.memory().getLong(physAddr);
        }
        return sum;
    }

    /**
     * Eight bytes from each buffer.
     *
     * @return something to keep
     */
    @Benchmark
    public long readLong() {
        long sum = 0;
        for (long dmaAddr : dmaAddrs) {
            sum += bus.readLong(dmaAddr);
        }
        return sum;
    }

    /**
     * Eight bytes into each buffer.
     *
     * @return something to keep
     */
    @Benchmark
    public long writeLong() {
        long sum = 0;
        for (long dmaAddr : dmaAddrs) {
            sum += bus.writeLong(dmaAddr, sum);
        }
        return sum;
    }

    /**
     * A page from each buffer.
     *
     * @return something to keep
     */
    @Benchmark
    public long readPage() {
        long sum = 0;
        for (long dmaAddr : dmaAddrs) {
            sum += bus.read(dmaAddr, page, 0, page.length);
        }
        return sum;
    }

    /**
     * A page into each buffer.
     *
     * @return something to keep
     */
    @Benchmark
    public long writePage() {
        long sum = 0;
        for (long dmaAddr : dmaAddrs) {
            sum += bus.write(dmaAddr, page, 0, page.length);
        }
        return sum;
    }

    /**
     * A cacheline from each buffer.
     *
     * @return something to keep
     */
    @Benchmark
    public long readLine() {
        long sum = 0;
        for (long dmaAddr : dmaAddrs) {
            sum += bus.read(dmaAddr, page, 0, LINE);
        }
        return sum;
    }

    /**
     * A cacheline into each buffer.
     *
     * @return something to keep
     */
    @Benchmark
    public long writeLine() {
        long sum = 0;
        for (long dmaAddr : dmaAddrs) {
            sum += bus.write(dmaAddr, page, 0, LINE);
        }
        return sum;
    }
}
