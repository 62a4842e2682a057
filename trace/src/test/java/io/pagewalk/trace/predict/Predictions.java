package io.pagewalk.trace.predict;

import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.replay.MachineSpec;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One prediction and all that it told, and short ways to its inputs. */
record Predictions(PredictionResult result, List<Miss> misses, List<Move> moves) {
    /** A machine of one bounce pool of 256 slots in two areas. */
    static final String SMALL_POOL = """
            setup_percpu: nr_cpu_ids:2
            Kernel command line: swiotlb=256,force
            software IO TLB: area num 2.
            software IO TLB: mapped [mem 0x10000000-0x10080000] (0MB)
            """;

    static final String STRICT = iommu("strict");
    static final String LAZY = iommu("lazy");

    private static String iommu(String mode) {
        return "nr_cpu_ids:2 \n"
                + "iommu: DMA domain TLB invalidation policy: " + mode + " mode\n"
                + "DMAR: dmar0: reg_base_addr fed90000 ver 1:0 cap d2008c222f0606 ecap f00f4a\n"
                + "pci_bus 0000:00: root bus resource [mem 0xc0000000-0xfebfffff window]\n"
                + "DMAR: Intel(R) Virtualization Technology for Directed I/O\n";
    }

    static InputStream stream(String text) {
        return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8));
    }

    static InputStream resource(String file) {
        return Objects.requireNonNull(Predictions.class.getResourceAsStream("/" + file), file);
    }

    static BootLog log(String text) throws IOException {
        return BootLog.read(stream(text), "log");
    }

    static BootLog logOf(String trace) throws IOException {
        String file = "predict/dmesg-" + trace + ".txt";
        return BootLog.read(resource(file), file);
    }

    /** Predicts a recorded trace of the test's resources. */
    static Predictions recorded(String file, BootLog log, @Nullable FlushTimers timers) throws IOException {
        try (TraceReader reader = TraceReader.open(resource(file), file)) {
            return run(reader, log, MachineSpec.DEFAULT, timers);
        }
    }

    /** Predicts a few lines. */
    static Predictions of(String log, String trace) throws IOException {
        return of(log, trace, MachineSpec.DEFAULT);
    }

    static Predictions of(String log, String trace, MachineSpec spec) throws IOException {
        try (TraceReader reader = TraceReader.open(stream(trace), "trace")) {
            return run(reader, log(log), spec, null);
        }
    }

    static Predictions run(TraceReader reader, BootLog log, MachineSpec spec, @Nullable FlushTimers timers)
            throws IOException {
        List<Miss> misses = new ArrayList<>();
        List<Move> moves = new ArrayList<>();
        PredictionListener listener = new PredictionListener() {
            @Override
            public void notPredicted(Miss miss) {
                misses.add(miss);
            }

            @Override
            public void moved(Move move) {
                moves.add(move);
            }
        };
        AddressPrediction prediction = new AddressPrediction(log, spec, timers, listener, (events, read, all) -> {});
        return new Predictions(prediction.run(reader), misses, moves);
    }

    List<String> messages() {
        return misses.stream().map(Miss::message).toList();
    }

    long judged(AddressKind kind) {
        return result.inLineOrder().judged().getOrDefault(kind, 0L);
    }

    long predicted(AddressKind kind) {
        return result.inLineOrder().predicted().getOrDefault(kind, 0L);
    }
}
