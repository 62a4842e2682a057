package io.pagewalk.trace.replay;

import io.pagewalk.dma.spi.DmaBackends;
import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.workload.TraceText;
import java.io.IOException;
import java.util.List;

/** Replays of the tests. */
final class Replays {
    private Replays() {}

    static final ReplayOptions UNTIMED = ReplayOptions.DEFAULT.withTiming(false);

    /** Every backend but the planted ones. */
    static List<String> soundBackends() {
        return DmaBackends.all().stream()
                .map(DmaBackends.Found::name)
                .filter(name -> !PlantedProvider.isPlanted(name))
                .toList();
    }

    static ReplayResult of(TraceText text, ReplayOptions options) {
        return of(text.open(), options);
    }

    static ReplayResult of(TraceReader trace, ReplayOptions options) {
        try (TraceReader reader = trace) {
            return new ReplayEngine(options).replay(reader);
        } catch (IOException unreadable) {
            throw new AssertionError(unreadable);
        }
    }

    /** The result of one backend. */
    static BackendResult on(String backend, TraceText text, ReplayOptions options) {
        return of(text, options.withBackends(List.of(backend))).backends().get(0);
    }

    static BackendResult on(String backend, TraceText text) {
        return on(backend, text, UNTIMED);
    }

    static long accountedFor(Tally tally) {
        return tally.verifiedMaps() + tally.mismatchedMaps() + tally.failed() + tally.stillLive();
    }
}
