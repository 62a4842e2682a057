package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names of tasks and the columns around them. A name is what a program calls itself: it may hold anything. */
class TaskNamesTest {
    private static final String UNMAP = "dma_unmap_page: 0000:00:04.0 dir=TO_DEVICE dma_addr=1000 size=8 attrs=";

    @ParameterizedTest
    @ValueSource(
            strings = {
                "kworker/u8:1",
                "kworker/0:1H",
                "jbd2/nvme0n1-8",
                "<idle>",
                "<...>",
                "Web Content",
                "a b c",
                "x-5 [001]y",
                "[000] 1.0: z",
                "12-34 (56)",
                "dma_map_page:",
                "(sd-pam)",
                "- -",
                "7",
                "\u00e9t\u00e9"
            })
    void aNameReadsBackInEveryFormat(String task) throws IOException {
        assertThat(header(String.format("%16s-%-7d [%03d] d..1. %12s: %s", task, 31, 1, "4.451748", UNMAP)))
                .isEqualTo(new TraceHeader(1, task, 31, 1, "d..1.", 4_451_748_000L));
        assertThat(header(String.format("%16s-%-5d [%03d] %12s: %s", task, 31, 1, "4.451748", UNMAP)))
                .isEqualTo(new TraceHeader(1, task, 31, 1, "", 4_451_748_000L));
        assertThat(header(String.format("%16s %5d [%03d] %12s: dma:%s", task, 31, 1, "4.451748", UNMAP)))
                .isEqualTo(new TraceHeader(1, task, 31, 1, "", 4_451_748_000L));
    }

    @Test
    void aNameMayBeEmpty() throws IOException {
        assertThat(header("                -31      [001] .....     4.451748: " + UNMAP)
                        .task())
                .isEmpty();
        assertThat(header("                    31 [001]     4.451748: dma:" + UNMAP)
                        .task())
                .isEmpty();
    }

    @Test
    void perfShowsAnUnknownTaskWithPidMinusOne() throws IOException {
        assertThat(header("             :-1    -1 [001]     4.451748: dma:" + UNMAP))
                .isEqualTo(new TraceHeader(1, ":-1", -1, 1, "", 4_451_748_000L));
    }

    @Test
    void aThreadGroupBehindThePidIsSkipped() throws IOException {
        assertThat(header("             fio-326     (    320) [000] d..1.    10.213493: " + UNMAP))
                .isEqualTo(new TraceHeader(1, "fio", 326, 0, "d..1.", 10_213_493_000L));
        assertThat(header("          <idle>-0       (-------) [000] d..1.    10.213493: " + UNMAP)
                        .pid())
                .isZero();
    }

    @Test
    void olderKernelsHaveFourFlags() throws IOException {
        assertThat(header("             fio-326     [012] d.h1    10.213493: " + UNMAP))
                .isEqualTo(new TraceHeader(1, "fio", 326, 12, "d.h1", 10_213_493_000L));
    }

    @Test
    void latencyColumnsJoinCpuAndFlags() throws IOException {
        assertThat(header("jbd2/nvm-1234   12d.h1.    10.213493001: " + UNMAP))
                .isEqualTo(new TraceHeader(1, "jbd2/nvm", 1234, 12, "d.h1.", 10_213_493_001L));
        assertThat(header("  a b 1-7         0.Ns1.    10.213493: " + UNMAP))
                .isEqualTo(new TraceHeader(1, "a b 1", 7, 0, ".Ns1.", 10_213_493_000L));
    }

    @Test
    void nineDigitsAreNanosecondsInEveryFormat() throws IOException {
        assertThat(header("             fio-326   [000]    10.213493007: " + UNMAP)
                        .timestampNanos())
                .isEqualTo(10_213_493_007L);
        assertThat(header("             fio   326 [000]    10.213493007: dma:" + UNMAP)
                        .timestampNanos())
                .isEqualTo(10_213_493_007L);
    }

    @Test
    void theWallClockFitsATimestamp() throws IOException {
        assertThat(header("fio-326 [000] 1790000000.000001: " + UNMAP).timestampNanos())
                .isEqualTo(1_790_000_000_000_001_000L);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "fio-326 [000] .....    10.2134: ",
                "fio-326 [000] .....    10213493: ",
                "fio-326 [000] .....    99999999999.213493: ",
                "fio-326 [000] .....    9999999999.213493: ",
                "fio-326 [000] .....    10.213493 ",
                "fio-326 [000].....    10.213493: ",
                "fio-326 [0000000000] .....    10.213493: ",
                "fio-326 [] .....    10.213493: ",
                "fio-326 000] d..1.    10.213493: ",
                "fio-326 001]    10.213493: ",
                "fio-326 [000] .....  d..1.   10.213493: ",
                "fio-326 [000] d,.1.    10.213493: ",
                "fio 326 [000] d..1.    10.213493: ",
                "fio-9999999999 [000] .....    10.213493: ",
                "fio+326 [000] .....    10.213493: ",
                "fio 326 1.....    10.213493: ",
                "[000] .....    10.213493: "
            })
    void aDamagedPrefixIsABadLine(String prefix) throws IOException {
        try (TraceReader reader = Traces.reader(Traces.GOOD_LINE + "\n" + prefix + UNMAP)) {
            assertThat(Traces.drain(reader)).hasSize(1);
            assertThat(reader.summary().firstBadLines())
                    .singleElement()
                    .satisfies(bad -> assertThat(bad.reason())
                            .isEqualTo("no task, CPU and time as tracefs, trace-cmd or perf print them"));
        }
    }

    private static TraceHeader header(String line) throws IOException {
        return Traces.parse(line).header();
    }
}
