package io.pagewalk.benchmarks;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.CacheMaintenance;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.MachineBuilder;
import io.pagewalk.dma.debug.DmaDebugOptions;
import io.pagewalk.dma.events.JfrListener;
import io.pagewalk.dma.memory.CpuCacheOptions;
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
 * What each thing that looks for misuse costs a map, a device's read and an unmap on dma-direct; the baseline is the
 * same loop with nothing on.
 *
 * <p>Hypothesis: JFR without a recording costs a few nanoseconds; ledger, byte-exact checking, dma-debug and the CPU
 * cache cost objects and look-ups, some hundred nanoseconds each, which is why they are off by default. Each measured
 * call is a batch of {@value BenchmarkMachine#BATCH} operations: divide.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class OptionsBenchmark {
    /** What is on. */
    @Param({"nothing", "jfr", "ledger", "byte-exact", "dma-debug", "cpu-cache"})
    public String option = "nothing";

    private final long[] physAddrs = BenchmarkMachine.buffers();
    private final byte[] bytes = new byte[64];
    private Machine plain = BenchmarkMachine.of("direct");
    private Device plainDevice = BenchmarkMachine.device(plain);
    private Machine machine = plain;
    private Device device = plainDevice;

    /** Makes a machine with the option, and one with nothing on. */
    @Setup(Level.Trial)
    public void open() {
        plain = BenchmarkMachine.of("direct");
        plainDevice = BenchmarkMachine.device(plain);
        machine = with(option, BenchmarkMachine.builder("direct")).build();
        device = machine.addDevice(DeviceConfig.named("bench").withCoherent(!option.equals("cpu-cache")));
    }

    private static MachineBuilder with(String option, MachineBuilder builder) {
        return switch (option) {
            case "jfr" -> builder.listener(clock -> new JfrListener());
            case "ledger" -> builder.ledger();
            case "byte-exact" -> builder.byteExact();
            case "dma-debug" -> builder.dmaDebug(DmaDebugOptions.DEFAULT);
            case "cpu-cache" ->
                builder.cpuCache(CpuCacheOptions.DEFAULT)
                        .kernelConfig(KernelConfig.distribution()
                                .withArch(ArchConfig.x86().withCacheMaintenance(CacheMaintenance.arm64())));
            default -> builder;
        };
    }

    /** Closes both. */
    @TearDown(Level.Trial)
    public void close() {
        plain.close();
        machine.close();
    }

    /**
     * The loop with nothing on.
     *
     * @return something to keep
     */
    @Benchmark
    public long baseline() {
        return mapReadUnmap(plainDevice);
    }

    /**
     * The loop with the option.
     *
     * @return something to keep
     */
    @Benchmark
    public long mapReadUnmap() {
        return mapReadUnmap(device);
    }

    private long mapReadUnmap(Device each) {
        Dma dma = each.dma();
        long sum = 0;
        for (long physAddr : physAddrs) {
            long dmaAddr = dma.mapPage(physAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
            if (dma.mappingError(dmaAddr) != 0) {
                throw new IllegalStateException("a mapping failed: " + dma.lastFailure());
            }
            sum += each.bus().read(dmaAddr, bytes, 0, bytes.length);
            dma.unmapPage(dmaAddr, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE);
        }
        return sum;
    }
}
