package io.pagewalk.benchmarks;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Machine;
import java.nio.ByteBuffer;
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
 * What a bounce costs beside its bytes: a sync of a live bounced mapping copies without searching for slots.
 *
 * <p>Hypothesis: the copy is one bulk put for each stretch of memory, so that it runs at 0.8 or more of the speed of
 * one bulk put of the same bytes between two direct buffers, both hot.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class BounceCopyBenchmark {
    private static final long BUFFER = 0x1_4000_0000L;
    private static final int MAX_BYTES = 256 << 10;

    /** How much is copied at once. */
    @Param({"4096", "65536", "262144"})
    public int sizeBytes = 4096;

    private final ByteBuffer source = ByteBuffer.allocateDirect(MAX_BYTES);
    private final ByteBuffer target = ByteBuffer.allocateDirect(MAX_BYTES);
    private Machine machine = BenchmarkMachine.of("swiotlb");
    private Dma dma = BenchmarkMachine.device(machine).dma();
    private long dmaAddr;

    /** Maps the buffer and shows that a sync moves its last byte. */
    @Setup(Level.Trial)
    public void open() {
        machine = BenchmarkMachine.of("swiotlb");
        dma = BenchmarkMachine.device(machine).dma();
        dmaAddr = dma.mapPage(BUFFER, sizeBytes, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        machine.cpuMemory().putLong(BUFFER + sizeBytes - 8, 42);
        dma.syncSingleForDevice(dmaAddr, sizeBytes, DmaDirection.TO_DEVICE);
        if (dma.device().bus().readLong(dmaAddr + sizeBytes - 8) != 42) {
            throw new IllegalStateException("the sync moved nothing");
        }
    }

    /** Closes the machine. */
    @TearDown(Level.Trial)
    public void close() {
        machine.close();
    }

    /**
     * One bulk put of the same bytes.
     *
     * @return something to keep
     */
    @Benchmark
    public ByteBuffer baselineBulkPut() {
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            target.put(0, source, 0, sizeBytes);
        }
        return target;
    }

    /** The copy of a bounce. */
    @Benchmark
    public void bounceCopy() {
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            dma.syncSingleForDevice(dmaAddr, sizeBytes, DmaDirection.TO_DEVICE);
        }
    }
}
