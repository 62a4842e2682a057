package io.pagewalk.benchmarks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.results.format.ResultFormatType;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * Runs the benchmarks with the allocation profiler, writes JMH's JSON, prints p50 per operation, its ratio to the
 * baseline of the same run and the bytes allocated per operation, and fails when a hot path allocates 0.05 B/op or
 * more.
 *
 * <p>Arguments are JMH's own, such as a pattern of names or {@code -f 1}.
 */
public final class RunBenchmarks {
    private static final double ALLOCATION_LIMIT = 0.05;

    private record Line(String name, String backend, double nanos, double bytes) {}

    private RunBenchmarks() {}

    /**
     * The entry point.
     *
     * @param args JMH's arguments
     * @throws RunnerException when a benchmark fails
     * @throws CommandLineOptionException when JMH does not understand an argument
     */
    public static void main(String[] args) throws RunnerException, CommandLineOptionException {
        Options options = new OptionsBuilder()
                .parent(new CommandLineOptions(args))
                .addProfiler(GCProfiler.class)
                .resultFormat(ResultFormatType.JSON)
                .result("jmh-result.json")
                .shouldFailOnError(true)
                .build();
        List<Line> lines = lines(new Runner(options).run());
        print(lines);
        List<Line> allocating =
                lines.stream().filter(l -> l.bytes >= ALLOCATION_LIMIT).toList();
        if (!allocating.isEmpty()) {
            System.out.println("allocate " + ALLOCATION_LIMIT + " B/op or more: " + allocating);
            System.exit(1);
        }
    }

    private static List<Line> lines(Collection<RunResult> results) {
        List<Line> lines = new ArrayList<>();
        for (RunResult result : results) {
            String[] path = result.getParams().getBenchmark().split("\\.", -1);
            String name = path[path.length - 2] + "." + path[path.length - 1];
            double p50 = result.getPrimaryResult().getStatistics().getPercentile(50) / BenchmarkMachine.BATCH;
            Result<?> bytes = result.getSecondaryResults().get("gc.alloc.rate.norm");
            double allocated = bytes == null ? Double.NaN : bytes.getScore() / BenchmarkMachine.BATCH;
            lines.add(new Line(name, result.getParams().getParam("backend"), p50, allocated));
        }
        return lines;
    }

    private static void print(List<Line> lines) {
        Map<String, Double> baselines = new TreeMap<>();
        for (Line line : lines) {
            if (line.name.endsWith(".baseline")) {
                baselines.put(key(line), line.nanos);
            }
        }
        System.out.printf("%n%-36s %-14s %10s %10s %10s%n", "benchmark", "backend", "p50 ns/op", "x baseline", "B/op");
        for (Line line : lines) {
            Double baseline = baselines.get(key(line));
            String ratio = baseline == null ? "-" : String.format(Locale.ROOT, "%.1f", line.nanos / baseline);
            System.out.printf(
                    Locale.ROOT,
                    "%-36s %-14s %10.2f %10s %10.4f%n",
                    line.name,
                    line.backend,
                    line.nanos,
                    ratio,
                    line.bytes);
        }
    }

    private static String key(Line line) {
        return line.name.substring(0, line.name.indexOf('.')) + " " + line.backend;
    }
}
