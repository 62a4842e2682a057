package io.pagewalk.benchmarks;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * Counts the bytes that the measuring threads allocate. JMH's own profiler counts every thread of the process: its
 * harness allocates some ten kilobytes in each iteration, which few long operations have to share.
 */
public final class WorkerAllocation implements InternalProfiler {
    /** The result's name. */
    static final String BYTES = "worker.alloc.norm";

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private long before;

    /** Made by JMH, by name, in the process that measures. */
    public WorkerAllocation() {}

    @Override
    public String getDescription() {
        return "bytes that the measuring threads allocate, by operation";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        before = allocated();
    }

    @Override
    public Collection<? extends Result<?>> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        double bytes = allocated() - before;
        long operations = Math.max(1, result.getMetadata().getAllOps());
        return List.of(new ScalarResult(BYTES, bytes / operations, "B/op", AggregationPolicy.AVG));
    }

    private long allocated() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains("-jmh-worker-"))
                .mapToLong(thread -> Math.max(0, threads.getThreadAllocatedBytes(thread.getId())))
                .sum();
    }
}
