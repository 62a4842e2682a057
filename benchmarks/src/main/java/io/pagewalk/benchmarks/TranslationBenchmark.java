package io.pagewalk.benchmarks;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.driver.VtdDriver;
import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.BusPort;
import java.util.Objects;
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
 * What the unit does for one address: find it in the IOTLB, or walk tables of three or four levels.
 *
 * <p>Hypothesis: a walk costs little more than a hit, as its entries lie in one buffer and in the caches of the host;
 * the paging-structure caches save reads that are cheap already. Pages are taken in turn, so that an IOTLB of one entry
 * never holds the next one. Each measured call is a batch of {@value BenchmarkMachine#BATCH} translations: divide.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class TranslationBenchmark {
    private static final long PAGE = 4096;
    private static final long IOVA = 0x4000_0000L;

    /** What the unit has to do. */
    public enum Work {
        /** Every page is in the IOTLB. */
        IOTLB_HIT(48, 4 * BenchmarkMachine.BATCH, 4, 0),
        /** No page is, and tables have three levels. */
        WALK_3_LEVELS(39, 1, 1, 0),
        /** No page is, and tables have four levels. */
        WALK_4_LEVELS(48, 1, 1, 0),
        /** No page is, but the way to the last table is known. */
        WALK_WITH_PAGING_CACHE(48, 1, 1, 32);

        @SuppressWarnings("ImmutableEnumChecker") // options never change
        private final BackendOptions options;

        Work(int widthBits, int iotlbEntries, int iotlbWays, int pagingCacheEntries) {
            options = BackendOptions.NONE
                    .with("iommu.widthBits", widthBits)
                    .with("iommu.iotlbEntries", iotlbEntries)
                    .with("iommu.iotlbWays", iotlbWays)
                    .with("iommu.pagingCacheEntries", pagingCacheEntries);
        }
    }

    /** What is measured. */
    @Param
    public Work work = Work.IOTLB_HIT;

    private final long[] physAddrs = BenchmarkMachine.buffers();
    private final long[] iovas = new long[BenchmarkMachine.BATCH];
    private Machine machine = BenchmarkMachine.of("iommu-strict");
    private BusPort port = portOf(machine, BenchmarkMachine.device(machine));

    /** Makes the machine and maps the pages. */
    @Setup(Level.Trial)
    public void open() {
        machine.close();
        machine = Machine.builder()
                .ramBytes(8L << 30)
                .backend("iommu-strict")
                .backendOptions(work.options)
                .build();
        Device device = BenchmarkMachine.device(machine);
        IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();
        requireDone(domain.attach(device) == 0);
        port = portOf(machine, device);
        for (int i = 0; i < iovas.length; i++) {
            iovas[i] = IOVA + i * PAGE;
            requireDone(domain.map(iovas[i], physAddrs[i], PAGE, IommuProt.READ | IommuProt.WRITE) == 0);
            requireDone(port.translate(iovas[i], Access.READ) == physAddrs[i]);
        }
    }

    private static BusPort portOf(Machine machine, Device device) {
        return Objects.requireNonNull(machine.part(VtdDriver.class)).port(device);
    }

    private static void requireDone(boolean done) {
        if (!done) {
            throw new IllegalStateException("a page was not mapped or not reached");
        }
    }

    /** Closes the machine. */
    @TearDown(Level.Trial)
    public void close() {
        machine.close();
    }

    /**
     * The same number of look-ups in an array, as what cannot be saved.
     *
     * @return something to keep
     */
    @Benchmark
    public long baselineArray() {
        long sum = 0;
        for (long iova : iovas) {
            sum += physAddrs[(int) ((iova - IOVA) / PAGE)];
        }
        return sum;
    }

    /**
     * The unit.
     *
     * @return something to keep
     */
    @Benchmark
    public long translate() {
        long sum = 0;
        for (long iova : iovas) {
            sum += port.translate(iova, Access.READ);
        }
        return sum;
    }
}
