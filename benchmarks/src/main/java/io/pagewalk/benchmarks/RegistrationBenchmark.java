package io.pagewalk.benchmarks;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageFrames;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.IbDevice;
import io.pagewalk.rdma.mm.Credentials;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.umem.UmemResult;
import io.pagewalk.rdma.umem.Umems;
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
 * What it costs to register 1 GiB of touched memory and to release it, for each page of 4 KiB: pinned in batches of
 * 512, listed, mapped; unmapped, made dirty, unpinned.
 *
 * <p>Hypothesis: pinning and unpinning, which look at a page's entry and change its frame, are nearly all of it; the
 * list has an entry for each stretch of neighbouring frames only, so that listing and mapping hardly show. Each
 * measured call is {@value #PAGES} pages: divide. A call allocates its list, hence the bytes for each page are not held
 * to the limit of hot paths. Last table: {@code docs/performance/2026-11-30-registration.md}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class RegistrationBenchmark {
    /** Pages in a call: 1 GiB. */
    static final int PAGES = 1 << 18;

    private static final int LEAF_ENTRIES = 512;

    /** Whose device it is: software that needs no DMA, or one on a bus, mapped by dma-direct. */
    @Param({"software", "direct"})
    public String device = "software";

    int pages = PAGES;

    private final UmemResult result = new UmemResult();
    private Machine machine = BenchmarkMachine.of("direct");
    private Process process = Process.create(machine);
    private PageFrames frames = machine.frames();
    private Umems umems = Umems.of(machine);
    private IbDevice ibDevice = IbDevice.withoutDmaDevice("rxe0", machine);
    private long userAddr;
    private long[][] leaves = new long[0][];

    /** Maps and touches the memory, and copies its page table for the walk. */
    @Setup(Level.Trial)
    public void open() {
        machine = BenchmarkMachine.of("direct");
        frames = machine.frames();
        umems = Umems.of(machine);
        process = Process.create(machine);
        process.setMemlockLimit(Credentials.RLIM_INFINITY);
        ibDevice = device.equals("software")
                ? IbDevice.withoutDmaDevice("rxe0", machine)
                : IbDevice.withDmaDevice("nic0", BenchmarkMachine.device(machine));
        long bytes = (long) pages << Addresses.PAGE_SHIFT;
        userAddr = process.mmap(bytes);
        if (process.mlock(userAddr, bytes) != 0 || process.munlock(userAddr, bytes) != 0) {
            throw new IllegalStateException("the memory cannot be touched");
        }
        copyPageTable();
    }

    private void copyPageTable() {
        leaves = new long[(pages + LEAF_ENTRIES - 1) / LEAF_ENTRIES][LEAF_ENTRIES];
        for (int page = 0; page < pages; page++) {
            long pfn = process.pfnOf(userAddr + ((long) page << Addresses.PAGE_SHIFT));
            leaves[page / LEAF_ENTRIES][page % LEAF_ENTRIES] = pfn;
        }
    }

    /** Closes the machine. */
    @TearDown(Level.Trial)
    public void close() {
        machine.close();
    }

    /**
     * A bare walk of the same entries, which looks at each page's frame and changes nothing.
     *
     * @return the references that the pages have
     */
    @Benchmark
    public long baselineWalk() {
        long references = 0;
        for (int page = 0; page < pages; page++) {
            references += frames.refCount(leaves[page / LEAF_ENTRIES][page % LEAF_ENTRIES]);
        }
        return references;
    }

    /**
     * Registers all of it for local writes, and releases it.
     *
     * @return how many pages were charged
     */
    @Benchmark
    public long registerAndRelease() {
        long bytes = (long) pages << Addresses.PAGE_SHIFT;
        int error = umems.get(ibDevice, 0, process, userAddr, bytes, AccessFlags.LOCAL_WRITE, result);
        if (error != 0) {
            throw new IllegalStateException("cannot register: " + result.failure());
        }
        long charged = process.addressSpace().pinnedVm();
        umems.release(result.umem());
        return charged;
    }
}
