package io.pagewalk.benchmarks;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.mm.Credentials;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.qp.AtomicWord;
import io.pagewalk.rdma.qp.Link;
import io.pagewalk.rdma.qp.MemoryRegions;
import io.pagewalk.rdma.qp.RcQp;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.rxe.RxeDevice;
import io.pagewalk.rdma.verbs.Cq;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Owner;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.QpAttributes;
import io.pagewalk.rdma.verbs.QpInit;
import io.pagewalk.rdma.verbs.SendWr;
import io.pagewalk.rdma.verbs.VerbsDevice;
import io.pagewalk.rdma.verbs.WorkCompletion;
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
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What rxe's keys and regions cost: a remote key looked up and its bounds checked, eight bytes read, an atomic, 64 KiB
 * written through a region and by a work request; each beside what cannot be saved: the same bytes moved, or the same
 * table looked up, by address.
 *
 * <p>Hypothesis: a lookup is a table and two changes of a reference count; a region adds a division to each access; a
 * posted write copies its bytes twice, into packets and out of them, and its packets are few. Nothing allocates.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(3)
public class VerbsBenchmark {
    private static final int PAGE = 4096;
    private static final int PAGES = 16;
    private static final int BYTES = PAGES * PAGE;
    private static final int ALL =
            AccessFlags.LOCAL_WRITE | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_READ | AccessFlags.REMOTE_ATOMIC;

    /** What is measured. */
    public enum Work {
        /** A remote key looked up, with its bounds checked, and let go. */
        LOOKUP,
        /** Eight bytes read through a region. */
        READ_8,
        /** Eight bytes added to through a region. */
        FETCH_ADD_8,
        /** 64 KiB written through a region. */
        WRITE_64_KIB,
        /** 64 KiB written by a work request, and its completion polled. */
        POSTED_WRITE_64_KIB
    }

    /** What is measured. */
    @Param
    public Work work = Work.LOOKUP;

    private final Machine machine = BenchmarkMachine.of("direct");
    private final CpuMemory memory = machine.cpuMemory();
    private final Process process = Process.create(machine);
    private final VerbsDevice device = RxeDevice.add("rxe0", machine);
    private final MemoryRegions regions = ((RxeDevice) device.provider()).regions();
    private final Pd pd = device.allocPd(0, "bench").value();
    private final Cq cq = device.createCq(Owner.kernel("bench"), 64).value();
    private final RcQp qp = queuePair();
    private final RcQp peer = queuePair();
    private final Mr[] mrs = new Mr[BenchmarkMachine.BATCH];
    private final long[] physAddrs = new long[PAGES];
    private final long[] tableStarts = new long[BenchmarkMachine.BATCH];
    private final long[] tableKeys = new long[BenchmarkMachine.BATCH];
    private final byte[] packet = new byte[BYTES];
    private final RemoteRef ref = new RemoteRef();
    private final AtomicWord old = new AtomicWord();
    private final SendWr wr = new SendWr();
    private final WorkCompletion completion = new WorkCompletion();

    /** Makes the regions: the first one is used for bytes, all are looked up. */
    public VerbsBenchmark() {
        process.setMemlockLimit(Credentials.RLIM_INFINITY);
        Link.establish(qp, peer, QpAttributes.usual().withPathMtu(PAGE));
        for (int i = 0; i < mrs.length; i++) {
            long addr = process.mmap(BYTES);
            mrs[i] = device.regUserMr(pd, 0, process, addr, BYTES, addr, ALL).value();
            tableStarts[i] = addr;
            tableKeys[i] = mrs[i].rkey();
        }
        for (int page = 0; page < PAGES; page++) {
            physAddrs[page] = process.pfnOf(tableStarts[0] + (long) page * PAGE) << Addresses.PAGE_SHIFT;
        }
    }

    private RcQp queuePair() {
        return (RcQp) device.createQp(pd, QpInit.of(cq, cq).withSizes(16, 1, 2)).value();
    }

    /** Closes the machine. */
    @TearDown(Level.Trial)
    public void close() {
        machine.close();
    }

    private static long require(boolean done, long result) {
        if (!done) {
            throw new IllegalStateException("refused");
        }
        return result;
    }

    /**
     * The same without keys and regions: arrays looked up by number, bytes by physical address.
     *
     * @return something to keep
     */
    @Benchmark
    public long baseline() {
        return switch (work) {
            case LOOKUP -> lookupArrays();
            case READ_8 -> readBare();
            case FETCH_ADD_8 -> addBare();
            case WRITE_64_KIB -> copyBare(1);
            case POSTED_WRITE_64_KIB -> copyBare(2);
        };
    }

    /**
     * By key, or through the region.
     *
     * @return something to keep
     */
    @Benchmark
    public long verbs() {
        return switch (work) {
            case LOOKUP -> lookup();
            case READ_8 -> read();
            case FETCH_ADD_8 -> add();
            case WRITE_64_KIB -> write();
            case POSTED_WRITE_64_KIB -> post();
        };
    }

    private long lookupArrays() {
        long found = 0;
        for (int i = 0; i < tableKeys.length; i++) {
            boolean fits = tableKeys[i] == mrs[i].rkey() && tableStarts[i] - mrs[i].iova() <= BYTES - Long.BYTES;
            found += require(fits, 1);
        }
        return found;
    }

    private long lookup() {
        long found = 0;
        for (int i = 0; i < mrs.length; i++) {
            boolean fits = regions.lookupRemote(peer, mrs[i].rkey(), AccessFlags.REMOTE_READ, ref)
                    && ref.region().checkRange(tableStarts[i], Long.BYTES) == 0;
            ref.put();
            found += require(fits, 1);
        }
        return found;
    }

    private long readBare() {
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            memory.read(physAddrs[i % PAGES] + 8L * i, packet, 0, Long.BYTES);
        }
        return packet[0];
    }

    private long read() {
        Region region = (Region) mrs[0];
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            long iova = tableStarts[0] + (long) (i % PAGES) * PAGE + 8L * i;
            require(region.read(iova, packet, 0, Long.BYTES) == 0, 0);
        }
        return packet[0];
    }

    private long addBare() {
        long sum = 0;
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            sum += memory.getAndAddLong(physAddrs[i % PAGES] + 8L * i, 1);
        }
        return sum;
    }

    private long add() {
        Region region = (Region) mrs[0];
        long sum = 0;
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            long iova = tableStarts[0] + (long) (i % PAGES) * PAGE + 8L * i;
            require(region.fetchAdd(iova, 1, old) == Region.ATOMIC_DONE, 0);
            sum += old.value();
        }
        return sum;
    }

    /**
     * The pages of 64 KiB moved so many times by their physical addresses: out of an array, and before that into one.
     */
    private long copyBare(int copies) {
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            for (int page = 0; page < PAGES; page++) {
                if (copies == 2) {
                    memory.read(physAddrs[page], packet, 0, PAGE);
                }
                memory.write(physAddrs[page], packet, copies == 2 ? 0 : page * PAGE, PAGE);
            }
        }
        return BYTES;
    }

    private long write() {
        Region region = (Region) mrs[0];
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            require(region.write(tableStarts[0], packet, 0, BYTES) == 0, 0);
        }
        return BYTES;
    }

    private long post() {
        Mr mr = mrs[0];
        for (int i = 0; i < BenchmarkMachine.BATCH; i++) {
            wr.write(i, tableStarts[0], mr.rkey()).sge(tableStarts[0], BYTES, mr.lkey());
            require(qp.postSend(wr.signaled()) == 0 && cq.poll(completion) == 1, 0);
            require(completion.status().value() == 0, 0);
        }
        return BYTES;
    }
}
