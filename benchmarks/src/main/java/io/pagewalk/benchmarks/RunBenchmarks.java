package io.pagewalk.benchmarks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.annotations.Mode;
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
import org.openjdk.jmh.runner.options.TimeValue;

/**
 * Runs the benchmarks, writes JMH's JSON, prints p50 per operation, its ratio to the baseline of the same run and the
 * bytes allocated per operation, and fails when a hot path allocates 0.05 B/op or more.
 *
 * <p>Times come from a run in sample mode; allocation from a second, shorter one in average mode with the allocation
 * profiler, since the samples' own buffers would be counted with it. Arguments are JMH's own, such as a pattern of
 * names or {@code -f 1}.
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
        CommandLineOptions given = new CommandLineOptions(args);
        Map<String, Double> bytes = allocation(new Runner(allocating(given)).run());
        List<Line> lines = lines(new Runner(timing(given)).run(), bytes);
        print(lines);
        List<Line> allocating =
                lines.stream().filter(l -> !(l.bytes < ALLOCATION_LIMIT)).toList();
        if (!allocating.isEmpty()) {
            System.out.println("allocate " + ALLOCATION_LIMIT + " B/op or more: " + allocating);
            System.exit(1);
        }
    }

    private static Options timing(CommandLineOptions given) {
        return new OptionsBuilder()
                .parent(given)
                .mode(Mode.SampleTime)
                .resultFormat(ResultFormatType.JSON)
                .result("jmh-result.json")
                .shouldFailOnError(true)
                .build();
    }

    private static Options allocating(CommandLineOptions given) {
        return new OptionsBuilder()
                .parent(given)
                .mode(Mode.AverageTime)
                .addProfiler(GCProfiler.class)
                .forks(1)
                .warmupIterations(2)
                .warmupTime(TimeValue.seconds(1))
                .measurementIterations(2)
                .measurementTime(TimeValue.seconds(1))
                .resultFormat(ResultFormatType.JSON)
                .result("jmh-allocation.json")
                .shouldFailOnError(true)
                .build();
    }

    private static Map<String, Double> allocation(Collection<RunResult> results) {
        Map<String, Double> bytes = new TreeMap<>();
        for (RunResult result : results) {
            Result<?> rate = result.getSecondaryResults().get("gc.alloc.rate.norm");
            if (rate != null) {
                bytes.put(name(result) + " " + backend(result), rate.getScore() / BenchmarkMachine.BATCH);
            }
        }
        return bytes;
    }

    private static List<Line> lines(Collection<RunResult> results, Map<String, Double> bytes) {
        List<Line> lines = new ArrayList<>();
        for (RunResult result : results) {
            double p50 = result.getPrimaryResult().getStatistics().getPercentile(50) / BenchmarkMachine.BATCH;
            double allocated = bytes.getOrDefault(name(result) + " " + backend(result), Double.NaN);
            lines.add(new Line(name(result), backend(result), p50, allocated));
        }
        return lines;
    }

    private static String name(RunResult result) {
        String full = result.getParams().getBenchmark();
        return full.substring(full.lastIndexOf('.', full.lastIndexOf('.') - 1) + 1);
    }

    private static String backend(RunResult result) {
        return result.getParams().getParam("backend");
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
