package io.pagewalk.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Lines that cannot be read: counted, told and left out, or the end of a pedantic reading. */
class BadLinesTest {
    private static final String PREFIX = "             nc-7       [001] ..s1.     1.000000: ";
    private static final TraceReader.Options PEDANTIC =
            TraceReader.Options.defaults().pedantic(true);

    /** The place where the reader gives up is marked with {@code ^}. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=1000^ phys_addr=2000 attrs= | ' size='
    dma_map_page: 0:4 dir=^SIDEWAYS dma_addr=1000 size=8 phys_addr=2000 attrs= | a DMA direction
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=^zz size=8 phys_addr=2 attrs= | a hexadecimal number
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=1fffffffffffffff^f size=8 | a hexadecimal number of at most 64 bits
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=1 size=1844674407370955161^6 | a decimal number of at most 64 bits
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=1 size=1844674407370955162^0 | a decimal number of at most 64 bits
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=1 size=^-8 phys_addr=2 attrs= | a decimal number
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=1 size=8 phys_addr=2 attrs=^LOUD | a DMA attribute
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=1 size=8 phys_addr=2 attrs=NO_WARN ^x | the end of the line
    dma_map_page: 0:4 dir=TO_DEVICE dma_addr=1^ si | ' size='
    dma_map_page:^ | ' dir=' somewhere
    dma_map_page: ^dir=TO_DEVICE dma_addr=1 size=8 | ' dir=' somewhere
    dma_map_page: [FAILED TO PARSE] device=0:4 phys_addr=2 dma_addr=1 size=8 dir=^4 attrs=0x0 | a DMA direction from 0 to 3
    dma_unmap_page: device=^ addr=1 size=8 dir=1 attrs=0x0 | a text before ' addr='
    dma_unmap_page: device=0:4 addr=1 size=8 dir=1 attrs=^ | a hexadecimal number
    dma_alloc: 0:4 dir=BIDIRECTIONAL dma_addr=1 size=8 virt_addr=^ flags=GFP_ATOMIC attrs= | a word
    dma_unmap_sg: 0:4 dir=TO_DEVICE phys_addrs={0x1000^,2000} attrs= | ',0x'
    dma_unmap_sg: 0:4 dir=TO_DEVICE phys_addrs={0x1000^ | '}'
    dma_unmap_sg: device=0:4 addrs=ARRAY[c0, a8, d3, 04, 01, 00, 00, ^0] dir=2 attrs=0x0 | two hexadecimal digits
    dma_unmap_sg: device=0:4 addrs=ARRAY[c0, a8, d3, 04, 01, 00, 00^,00] dir=2 attrs=0x0 | ', '
    dma_map_sg: device=0:4 full_nents=0 full_ents=0 truncated=^2 phys_addrs=ARRAY[] | '0'
    dma_map_sg_err: 0:4 dir=TO_DEVICE dma_addrs={0x1} err=-^9999999999 attrs= | a number below 2147483648
    swiotlb_bounced: dev_name: 0:8 dma_mask=ffffffff dev_addr=1 size=8^ SOFTLY | ' NORMAL'
    unmap: IOMMU: iova=0x1000 - 0x2000 size=4096^ | ' unmapped_size='
    add_device_to_group: IOMMU: groupID=3 device=^ | a text
    io_page_fault: IOMMU:dmar 0:4 iova=0x1 flags=^0x100000000 | a hexadecimal number of at most 32 bits
    """)
    void aDamagedEventSaysWhatWasExpectedAndWhere(String marked, String expected) throws IOException {
        String line = PREFIX + marked.replace("^", "");
        int place = PREFIX.length() + marked.indexOf('^');
        String rest = line.substring(place);
        String found =
                rest.isEmpty() ? "the line ends" : "found '" + rest.substring(0, Math.min(20, rest.length())) + "'";
        String name = marked.substring(0, marked.indexOf(':'));
        assertBad(line, name + ": expected " + expected + " at column " + (place + 1) + ", " + found);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
    dma_map_page 0:4 dir=TO_DEVICE dma_addr=1 size=8 | no event name after the time
    dma_unmap_sg: device=0:4 addrs=ARRAY[c0, a8, d3] dir=2 | dma_unmap_sg: an ARRAY of 3 bytes is no list of 8-byte values
    dma_map_sg: 0:4 dir=NONE nents=1/1 ents=1/1 dma_addrs={0x1} sizes={0x8,0x8} phys_addrs={0x2} attrs= | dma_map_sg: 1 DMA addresses but 2 lengths
    dma_map_sg: 0:4 dir=NONE nents=2/2 ents=1/1 dma_addrs={0x1} sizes={0x8} phys_addrs={0x2} attrs= | dma_map_sg: phys_addrs has 1 entries, the line says 2 of 2
    dma_map_sg: 0:4 dir=NONE nents=1/3 ents=1/1 dma_addrs={0x1} sizes={0x8} phys_addrs={0x2} attrs= | dma_map_sg: phys_addrs has 1 entries, the line says 1 of 3
    dma_map_sg: device=0:4 full_nents=0 full_ents=1 truncated=0 phys_addrs=ARRAY[] dma_addrs=ARRAY[] lengths=ARRAY[] dir=1 attrs=0x0 | dma_map_sg: dma_addrs has 0 entries, the line says 0 of 1
    dma_map_sg: 0:4 dir=NONE nents=1/1 ents=1/1 dma_addrs={0x1} sizes={0x100000000} phys_addrs={0x2} attrs= | dma_map_sg: a list entry of 0x100000000 bytes, but its length has 32 bits
    dma_sync_sg_for_cpu: 0:4 dir=TO_DEVICE dma_addrs={0x1} sizes={0xffffffffffffffff} | dma_sync_sg_for_cpu: a list entry of 0xffffffffffffffff bytes, but its length has 32 bits
    dma_sync_sg_for_cpu: 0:4 dir=TO_DEVICE dma_addrs={0x1} sizes={} | dma_sync_sg_for_cpu: 1 DMA addresses but 0 lengths
    map: IOMMU: iova=0x1000 - 0x3000 paddr=0x0 size=4096 | map: 0x1000 and 4096 bytes do not end at 0x3000
    """)
    void anEventThatContradictsItselfIsBad(String event, String reason) throws IOException {
        assertBad(PREFIX + event, reason);
    }

    private static void assertBad(String line, String reason) throws IOException {
        try (TraceReader reader = Traces.reader(Traces.GOOD_LINE + "\n" + line)) {
            assertThat(Traces.drain(reader)).hasSize(1);
            assertThat(reader.summary().firstBadLines()).containsExactly(new BadLine("text", 2, line, reason));
        }
    }

    @Test
    void theListenerHearsOfEachBadLineInOrder() throws IOException {
        List<BadLine> heard = new ArrayList<>();
        String text = "garbage one\n" + Traces.GOOD_LINE + "\ngarbage two";
        try (TraceReader reader =
                Traces.reader(text, TraceReader.Options.defaults().listener(heard::add))) {
            Traces.drain(reader);
            assertThat(heard).extracting(BadLine::lineNumber).containsExactly(1L, 3L);
            assertThat(heard).isEqualTo(reader.summary().firstBadLines());
        }
    }

    @Test
    void aPedanticReaderThrowsNamingFileAndLineAndCanGoOn() throws IOException {
        String text = Traces.GOOD_LINE + "\n" + PREFIX + "map: IOMMU: nothing\n" + Traces.GOOD_LINE;
        try (TraceReader reader = Traces.reader(text, PEDANTIC)) {
            assertThat(reader.next()).isNotNull();
            assertThatThrownBy(reader::next)
                    .isInstanceOfSatisfying(
                            TraceFormatException.class,
                            thrown -> assertThat(thrown.line().lineNumber()).isEqualTo(2))
                    .hasMessage("text:2: map: expected 'IOMMU: iova=' at column 56, found 'IOMMU: nothing'");
            assertThat(reader.next()).isNotNull();
            assertThat(reader.next()).isNull();
            assertThat(reader.summary().badLineCount()).isEqualTo(1);
        }
    }

    @Test
    void onlyTheFirstBadLinesAreKeptAndTheirTextIsClipped() throws IOException {
        String text = Traces.GOOD_LINE + "\n" + ("y".repeat(500) + "\n").repeat(50);
        try (TraceReader reader = Traces.reader(text)) {
            Traces.drain(reader);
            assertThat(reader.summary().badLineCount()).isEqualTo(50);
            assertThat(reader.summary().firstBadLines())
                    .hasSize(10)
                    .allSatisfy(bad -> assertThat(bad.text()).isEqualTo("y".repeat(BadLine.MAX_TEXT_BYTES)));
        }
    }

    @Test
    void aCutLastLineIsABadLineOfAPlainFile() throws IOException {
        try (TraceReader reader = Traces.reader(Traces.GOOD_LINE + "\n" + Traces.GOOD_LINE.substring(0, 100))) {
            assertThat(Traces.drain(reader)).hasSize(1);
            assertThat(reader.summary().badLineCount()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "   ",
                "# a comment",
                "##### CPU 1 buffer started ####",
                "cpus=64",
                "CPU 3 is empty",
                " => dma_map_page_attrs",
                "\tffffffff8112a3b4 dma_map_page_attrs+0x94 ([kernel.kallsyms])"
            })
    void linesAroundTheEventsAreNoBadLines(String line) throws IOException {
        try (TraceReader reader = Traces.reader(line + "\n" + Traces.GOOD_LINE, PEDANTIC)) {
            assertThat(Traces.drain(reader)).hasSize(1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"cpus=", "cpus=2x", "CPU 3 is full", "=> not indented", "ffffffff8112a3b4 f", " abc f", "text"})
    void linesThatOnlyLookLikeThoseAreBad(String line) throws IOException {
        try (TraceReader reader = Traces.reader(Traces.GOOD_LINE + "\n" + line, PEDANTIC)) {
            assertThat(reader.next()).isNotNull();
            assertThatThrownBy(reader::next).isInstanceOf(TraceFormatException.class);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    timer_start: timer=000000004e53fbc0 function=f|timer_start
                    sched:sched_switch: prev_comm=sh|sched:sched_switch
                    kvm:map: something of another system|kvm:map
                    print: 0xffffffff81000000: text of the kernel|print
                    schedule <-worker_thread|(function)
                    <stack trace>|(function)
                    PERF_RECORD_COMM exec: fio:213/213|PERF_RECORD_COMM
                    """)
    void eventsOfOthersAreCountedByNameAndLeftOut(String event, String name) throws IOException {
        try (TraceReader reader = Traces.reader(PREFIX + event + "\n" + Traces.GOOD_LINE, PEDANTIC)) {
            assertThat(Traces.drain(reader)).hasSize(1);
            assertThat(reader.summary().otherEventCounts())
                    .containsOnlyKeys(name)
                    .containsValue(1L);
            assertThat(reader.summary().otherEvents()).isEqualTo(1);
        }
    }

    @Test
    void countersOfOtherNamesDoNotGrowWithoutEnd() throws IOException {
        StringBuilder text = new StringBuilder(Traces.GOOD_LINE);
        for (int i = 0; i < 10_000; i++) {
            text.append('\n').append(PREFIX).append("event").append(i).append(": x");
        }
        try (TraceReader reader = Traces.reader(text.toString())) {
            Traces.drain(reader);
            assertThat(reader.summary().otherEvents()).isEqualTo(10_000);
            assertThat(reader.summary().otherEventCounts())
                    .hasSizeLessThan(5000)
                    .containsKey("(further names)");
        }
    }
}
