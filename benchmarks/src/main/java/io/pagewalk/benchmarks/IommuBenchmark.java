package io.pagewalk.benchmarks;

import io.pagewalk.backends.iommu.api.Iommu;
import io.pagewalk.backends.iommu.api.IommuPagingDomain;
import io.pagewalk.backends.iommu.api.IommuProt;
import io.pagewalk.backends.iommu.iova.IovaDomain;
import io.pagewalk.dma.Device;
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
 * The parts of a mapping behind an IOMMU, each beside a naive twin: taking and giving back an address, writing and
 * clearing a table entry, both with the rest of map and unmap, and a list of 256 pages.
 *
 * <p>Hypothesis: magazines and table bytes cost less than a sorted map and a hash map with their boxes, though they do
 * more. Each measured call is a batch of {@value BenchmarkMachine#BATCH} pages: divide.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class IommuBenchmark {
    private static final long PAGE = 4096;
    private static final int READ_WRITE = IommuProt.READ | IommuProt.WRITE;

    /** What is done to a page. */
    public enum Work {
        /** An address is taken and given back. */
        IOVA_PAIR,
        /** An entry of the tables is written and cleared. */
        MAP_UNMAP,
        /** A page is mapped and unmapped for a device whose flushes are put off. */
        LAZY_CYCLE,
        /** A page is mapped and unmapped for a device, with an invalidation each. */
        STRICT_CYCLE,
        /** A list of 256 pages in a row. */
        LIST_CONTIGUOUS,
        /** A list of 256 pages apart. */
        LIST_SCATTERED
    }

    /** What is measured. */
    @Param
    public Work work = Work.IOVA_PAIR;

    private final long[] physAddrs = BenchmarkMachine.buffers();
    private final SgTable sg = new SgTable(BenchmarkMachine.BATCH);
    private final NaiveIommu naive = new NaiveIommu();
    private Machine machine = BenchmarkMachine.of("iommu-lazy");
    private Dma dma = BenchmarkMachine.device(machine).dma();
    private IovaDomain iovas = new IovaDomain(machine, PAGE, 1, true);
    private IommuPagingDomain domain = Iommu.of(machine).allocPagingDomain();

    /** Makes the machine, the domains and the list. */
    @Setup(Level.Trial)
    public void open() {
        machine = BenchmarkMachine.of(work == Work.STRICT_CYCLE ? "iommu-strict" : "iommu-lazy");
        Device device = BenchmarkMachine.device(machine);
        dma = device.dma();
        iovas = new IovaDomain(machine, PAGE, 1, true);
        domain = Iommu.of(machine).allocPagingDomain();
        if (work == Work.MAP_UNMAP && domain.attach(device) != 0) {
            throw new IllegalStateException("the domain was not attached");
        }
        sg.clear();
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            sg.add(work == Work.LIST_CONTIGUOUS ? physAddrs[0] + i * PAGE : physAddrs[i], PAGE);
        }
        device.setMaxSegmentBytes(BenchmarkMachine.BATCH * PAGE);
    }

    /** Closes the machine, and makes sure that the twin kept nothing. */
    @TearDown(Level.Trial)
    public void close() {
        iovas.close();
        machine.close();
        if (naive.mappedPages() != 0) {
            throw new IllegalStateException("the twin still maps " + naive.mappedPages() + " pages");
        }
    }

    /**
     * The library.
     *
     * @return something to keep
     */
    @Benchmark
    public long pagewalk() {
        return switch (work) {
            case IOVA_PAIR -> iovaPairs();
            case MAP_UNMAP -> mapsAndUnmaps();
            case LAZY_CYCLE, STRICT_CYCLE -> cycles();
            case LIST_CONTIGUOUS, LIST_SCATTERED -> list();
        };
    }

    private long iovaPairs() {
        long sum = 0;
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            long pfn = iovas.allocFast(0, 1, 0xf_ffffL, true);
            iovas.freeFast(0, pfn, 1);
            sum += pfn;
        }
        return sum;
    }

    private long mapsAndUnmaps() {
        long sum = 0;
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            long iova = 0x4000_0000L + i * PAGE;
            requireDone(domain.map(iova, physAddrs[i], PAGE, READ_WRITE) == 0);
            sum += domain.unmap(iova, PAGE);
        }
        return sum;
    }

    private long cycles() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            long dmaAddr = dma.mapPage(physAddr, PAGE, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            requireDone(dmaAddr != Dma.DMA_MAPPING_ERROR);
            dma.unmapPage(dmaAddr, PAGE, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            sum += dmaAddr;
        }
        return sum;
    }

    private long list() {
        int segments = dma.mapSg(sg, sg.origNents(), DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        requireDone(segments > 0);
        dma.unmapSg(sg, sg.origNents(), DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        return segments;
    }

    private void requireDone(boolean done) {
        if (!done) {
            throw new IllegalStateException(work + " failed: " + dma.lastFailure());
        }
    }

    /**
     * The twin.
     *
     * @return something to keep
     */
    @Benchmark
    public long baselineNaiveTwin() {
        return switch (work) {
            case IOVA_PAIR -> naivePairs();
            case MAP_UNMAP -> naiveMapsAndUnmaps();
            case LAZY_CYCLE, STRICT_CYCLE -> naiveCycles();
            case LIST_CONTIGUOUS, LIST_SCATTERED -> naiveList();
        };
    }

    private long naivePairs() {
        long sum = 0;
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            long pfn = naive.alloc(1);
            naive.free(pfn);
            sum += pfn;
        }
        return sum;
    }

    private long naiveMapsAndUnmaps() {
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            naive.mapPage(0x4_0000L + i, physAddrs[i]);
            naive.unmapPage(0x4_0000L + i);
        }
        return naive.mappedPages();
    }

    private long naiveCycles() {
        long sum = 0;
        for (long physAddr : physAddrs) {
            long pfn = naive.alloc(1);
            naive.mapPage(pfn, physAddr);
            naive.unmapPage(pfn);
            naive.free(pfn);
            sum += pfn;
        }
        return sum;
    }

    private long naiveList() {
        int pageCount = sg.origNents();
        long pfn = naive.alloc(pageCount);
        for (int i = 0; i < pageCount; i++) {
            naive.mapPage(pfn + i, sg.physAddr(i));
        }
        for (int i = 0; i < pageCount; i++) {
            naive.unmapPage(pfn + i);
        }
        naive.free(pfn);
        return pfn;
    }
}
