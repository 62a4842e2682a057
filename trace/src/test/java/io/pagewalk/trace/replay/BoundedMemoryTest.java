package io.pagewalk.trace.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.trace.TraceReader;
import io.pagewalk.trace.workload.TraceText;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Memory follows what is live, not what was ever mapped. */
class BoundedMemoryTest {
    private static final String NVME = "0000:00:04.0";
    private static final int MAPPINGS = 20_000;
    private static final long SIZE = 192 << 10;

    /** Each mapping elsewhere: 20,000 of them touch 3.7 GiB, with 8 live at a time. */
    private static TraceReader wideTrace() throws IOException {
        List<InputStream> parts = IntStream.range(0, MAPPINGS + 8)
                .mapToObj(BoundedMemoryTest::step)
                .toList();
        return TraceReader.open(new SequenceInputStream(Collections.enumeration(parts)), "wide");
    }

    private static InputStream step(int index) {
        TraceText text = new TraceText().after(index * 10L);
        if (index < MAPPINGS) {
            text.mapPage(NVME, "BIDIRECTIONAL", addr(index), SIZE, addr(index));
        }
        if (index >= 8) {
            text.unmapPage(NVME, "BIDIRECTIONAL", addr(index - 8), SIZE);
        }
        return new java.io.ByteArrayInputStream(text.toString().getBytes(StandardCharsets.UTF_8));
    }

    private static long addr(int index) {
        return 0x1_0000_0000L + index * SIZE + 4096;
    }

    @Test
    void aLongTraceLeavesNothingBehindOnAnyBackend() throws IOException {
        ReplayResult result =
                Replays.of(wideTrace(), Replays.UNTIMED.withBackends(List.of("direct", PlantedProvider.SOUND)));
        assertThat(result.backends()).allSatisfy(backend -> {
            assertThat(backend.ok()).isTrue();
            assertThat(backend.total().verifiedMaps()).isEqualTo(MAPPINGS);
            assertThat(backend.residentBytes()).isLessThan(1L << 20);
        });
    }
}
