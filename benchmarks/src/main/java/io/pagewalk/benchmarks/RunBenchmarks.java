package io.pagewalk.benchmarks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.infra.BenchmarkParams;
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
 * Runs the benchmarks, writes JMH's JSON, and prints for each the best fork's p50 per operation, its ratio to the
 * baseline of the same class and parameters in the same run, and the bytes allocated per operation. Fails when a hot
 * path allocates 0.05 B/op or more (a registration, which makes a list, 16 bytes a page; a region that is made, 4 KiB),
 * or when a ratio misses its goal.
 *
 * <p>Times come from a run in sample mode; allocation from a second, shorter one in average mode, since the samples'
 * own buffers would be counted with it. Arguments are JMH's own, such as a pattern of names or {@code -f 1}.
 */
public final class RunBenchmarks {
    private static final double ALLOCATION_LIMIT = 0.05;

    /** The largest ratio to the baseline, of the benchmarks that have a goal. */
    private static final Map<String, Double> GOALS = Map.of(
            "DispatchBenchmark.mapUnmapPage", 3.0,
            "BounceCopyBenchmark.bounceCopy", 1 / 0.8,
            "FrontEndBenchmark.mapUnmapPage", 1.1);

    /** What a call allocates once and for all its pages is no garbage of a hot path; who asks to be watched pays. */
    private static final Map<String, Double> ALLOCATION_LIMITS = Map.of(
            "RegistrationBenchmark.registerAndRelease",
            16.0,
            "TransferBenchmark.allocAndDereg",
            4096.0,
            "OptionsBenchmark.mapReadUnmap",
            Double.POSITIVE_INFINITY);

    private record Line(String name, String params, double nanos, double bytes) {
        boolean isBaseline() {
            return name.contains(".baseline");
        }

        String group() {
            return name.substring(0, name.indexOf('.')) + " " + params;
        }
    }

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
        List<String> misses = print(lines);
        lines.stream()
                .filter(l -> !l.isBaseline() && !(l.bytes < ALLOCATION_LIMITS.getOrDefault(l.name, ALLOCATION_LIMIT)))
                .forEach(l -> misses.add(l.name + " " + l.params + " allocates " + l.bytes + " B/op"));
        misses.forEach(System.out::println);
        if (!misses.isEmpty()) {
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
                .addProfiler(WorkerAllocation.class)
                .forks(1)
                .warmupIterations(2)
                .warmupTime(TimeValue.seconds(1))
                .measurementIterations(2)
                .measurementTime(TimeValue.seconds(2))
                .resultFormat(ResultFormatType.JSON)
                .result("jmh-allocation.json")
                .shouldFailOnError(true)
                .build();
    }

    private static Map<String, Double> allocation(Collection<RunResult> results) {
        Map<String, Double> bytes = new TreeMap<>();
        for (RunResult result : results) {
            Result<?> rate = result.getSecondaryResults().get(WorkerAllocation.BYTES);
            if (rate != null) {
                String name = name(result);
                bytes.put(name + " " + params(result), rate.getScore() / operations(name));
            }
        }
        return bytes;
    }

    private static List<Line> lines(Collection<RunResult> results, Map<String, Double> bytes) {
        List<Line> lines = new ArrayList<>();
        for (RunResult result : results) {
            String name = name(result);
            String params = params(result);
            double nanos = bestForkMedian(result) / operations(name);
            lines.add(new Line(name, params, nanos, bytes.getOrDefault(name + " " + params, Double.NaN)));
        }
        return lines;
    }

    /** How many operations a measured call is. */
    private static int operations(String name) {
        if (name.startsWith("TransferBenchmark.")) {
            return 1;
        }
        return name.startsWith("RegistrationBenchmark.") ? RegistrationBenchmark.PAGES : BenchmarkMachine.BATCH;
    }

    /** Forks differ by what the compiler happened to inline; the best one shows what the code can do. */
    private static double bestForkMedian(RunResult result) {
        return result.getBenchmarkResults().stream()
                .mapToDouble(fork -> fork.getPrimaryResult().getStatistics().getPercentile(50))
                .min()
                .orElse(Double.NaN);
    }

    private static String name(RunResult result) {
        String full = result.getParams().getBenchmark();
        return full.substring(full.lastIndexOf('.', full.lastIndexOf('.') - 1) + 1);
    }

    private static String params(RunResult result) {
        BenchmarkParams params = result.getParams();
        return params.getParamsKeys().stream().map(params::getParam).collect(Collectors.joining(" "));
    }

    private static List<String> print(List<Line> lines) {
        Map<String, Double> baselines = lines.stream()
                .filter(Line::isBaseline)
                .collect(Collectors.toMap(Line::group, Line::nanos, Math::min, TreeMap::new));
        List<String> misses = new ArrayList<>();
        System.out.printf(
                "%n%-44s %-14s %12s %10s %8s %10s%n", "benchmark", "of", "p50 ns/op", "x baseline", "goal", "B/op");
        for (Line line : lines) {
            double ratio = line.nanos / baselines.getOrDefault(line.group(), Double.NaN);
            Double goal = GOALS.get(line.name);
            System.out.printf(
                    Locale.ROOT,
                    "%-44s %-14s %12.2f %10.2f %8s %10.4f%n",
                    line.name,
                    line.params,
                    line.nanos,
                    ratio,
                    goal == null ? "-" : String.format(Locale.ROOT, "<= %.2f", goal),
                    line.bytes);
            if (goal != null && !(ratio <= goal)) {
                misses.add(line.name + " " + line.params + " takes " + ratio + " times its baseline, goal " + goal);
            }
        }
        return misses;
    }
}
