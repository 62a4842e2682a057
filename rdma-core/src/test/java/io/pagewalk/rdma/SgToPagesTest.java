package io.pagewalk.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A list cut into the pages of a memory region (rdma:SGP-1 to SGP-11). */
class SgToPagesTest {
    private static final long PAGE = 0x1000;

    private final List<Long> pages = new ArrayList<>();
    private int limit = Integer.MAX_VALUE;
    private final PageSetter setter = page -> pages.size() < limit && pages.add(page) ? 0 : -Errno.ENOMEM;
    private final SgToPages call = new SgToPages();

    /** Segments written as {@code address+length}, in hex. */
    private static SgTable list(String text) {
        SgTable sg = new SgTable(1);
        for (String segment : text.trim().split(" ", -1)) {
            String[] numbers = segment.split("\\+", -1);
            long length = Long.parseUnsignedLong(numbers[1], 16);
            sg.add(0, 1);
            sg.setDma(sg.entries() - 1, Long.parseUnsignedLong(numbers[0], 16), length);
        }
        sg.mapped(sg.entries());
        return sg;
    }

    private int map(String segments, long offset, long pageBytes) {
        SgTable sg = list(segments);
        return call.map(sg, sg.nents(), offset, pageBytes, setter);
    }

    private static List<Long> hex(String text) {
        return text.equals("none")
                ? List.of()
                : List.of(text.split(" ", -1)).stream()
                        .map(t -> Long.parseUnsignedLong(t, 16))
                        .toList();
    }

    @ParameterizedTest(name = "rdma:SGP-EX{0}")
    @CsvSource({
        "1, 1200+e00 5000+1000 9000+800, 0, 99, 3, 1200, 2600, 1000 5000 9000, 0",
        "2, 1200+e00 5000+800 9000+1000, 0, 99, 2, 1200, 1600, 1000 5000, 0",
        "3, 10000+800 10800+1000 11800+800, 0, 99, 3, 10000, 2000, 10000 11000, 0",
        "4, 10000+4000, 0, 2, 0, 10000, 1000, 10000 11000, 1000",
        "5, 1200+2000, 0, 1, 0, 1200, fffffffffffffe00, 1000, fffffe00",
        "6, 10000+1000, 0, 0, -12, 10000, 0, none, 0",
        "7, 10000+1000, 100, 0, 0, 10100, 0, none, 100",
        "8, 10000+1000, 1000, 99, 1, 11000, 0, 11000, 0",
        "10, 10000+1000 20000+1000 30000+1000, 0, 2, 2, 10000, 2000, 10000 20000, 0",
        "11, 10000+1000 11000+1000 20800+800, 0, 99, 2, 10000, 2000, 10000 11000, 0"
    })
    void workedExamples(
            int example,
            String segments,
            String offset,
            int maxPages,
            int result,
            String iova,
            String length,
            String expectedPages,
            String offsetOut) {
        limit = maxPages;

        assertThat(map(segments, Long.parseLong(offset, 16), PAGE)).isEqualTo(result);
        assertThat(Long.toHexString(call.iova())).isEqualTo(iova);
        assertThat(Long.toHexString(call.lengthBytes())).isEqualTo(length);
        assertThat(pages).isEqualTo(hex(expectedPages));
        assertThat(Integer.toHexString(call.sgOffset())).isEqualTo(offsetOut);
    }

    @Test
    @DisplayName("rdma:SGP-2, SGP-EX9: an offset beyond the first segment, and no segments, leave the region alone")
    void whatCannotBeginLeavesTheRegionAsItWas() {
        map("10000+1000 11000+800", 0x10, PAGE);
        pages.clear();

        assertThat(map("20000+1000", 0x1001, PAGE)).isEqualTo(-Errno.EINVAL);
        assertThat(call.sgOffset()).isEqualTo(0x1001);
        assertThat(call.map(list("20000+1000"), 0, 0, PAGE, setter)).isEqualTo(-Errno.EINVAL);
        assertThat(call.map(list("20000+1000"), -1, 0, PAGE, setter)).isEqualTo(-Errno.EINVAL);
        assertThat(call.iova()).isEqualTo(0x10010);
        assertThat(call.lengthBytes()).isEqualTo(0x17f0);
        assertThat(pages).isEmpty();
    }

    @Test
    @DisplayName("rdma:SGP-5, SGP-7: what continues inside a page sets no page, until it reaches the next one")
    void aContinuationInsideThePageSetsNoPage() {
        assertThat(map("10000+100 10100+100 10200+e00", 0, PAGE)).isEqualTo(3);
        assertThat(pages).containsExactly(0x10000L);
        pages.clear();
        assertThat(map("10000+100 10100+f01", 0, PAGE)).isEqualTo(2);
        assertThat(pages).containsExactly(0x10000L, 0x11000L);
        assertThat(call.lengthBytes()).isEqualTo(0x1001);
    }

    @Test
    @DisplayName("rdma:SGP-5: a segment that begins inside a page after an aligned end is a gap, as the reverse is")
    void oneUnalignedSideIsEnoughForAGap() {
        assertThat(map("10000+1000 20800+800", 0, PAGE)).isEqualTo(1);
        assertThat(map("10000+800 20000+1000", 0, PAGE)).isEqualTo(1);
        assertThat(call.lengthBytes()).isEqualTo(0x800);
        assertThat(map("10800+800 11000+1000", 0, PAGE)).isEqualTo(2);
        assertThat(call.lengthBytes()).isEqualTo(0x1800);
    }

    @Test
    @DisplayName("rdma:SGP-8: the offset and the index say where the region was full, in a later segment too")
    void aFullRegionSaysWhereToGoOn() {
        limit = 3;

        assertThat(map("10000+1000 20000+4000", 0, PAGE)).isEqualTo(1);
        assertThat(call.sgOffset()).isEqualTo(0x1000);
        assertThat(call.lengthBytes()).isEqualTo(0x2000);
        assertThat(pages).containsExactly(0x10000L, 0x20000L, 0x21000L);
    }

    @Test
    @DisplayName("rdma:SGP-8: the setter's own error is returned when it took nothing")
    void theSettersErrorIsReturnedWhenItTookNothing() {
        SgTable sg = list("10000+1000");

        assertThat(call.map(sg, 1, 0, PAGE, page -> -Errno.EBUSY)).isEqualTo(-Errno.EBUSY);
    }

    @Test
    @DisplayName("rdma:SGP-1, SGP-3: pages are cut by the region's page size, from the offset on")
    void pagesHaveTheRegionsSize() {
        assertThat(map("12345+20000", 0x10000, 0x10000)).isEqualTo(1);
        assertThat(pages).containsExactly(0x20000L, 0x30000L);
        assertThat(call.iova()).isEqualTo(0x22345);
        assertThat(call.lengthBytes()).isEqualTo(0x10000);
    }

    @Test
    void numbersThatDoNotFitAreRefused() {
        SgTable sg = list("10000+1000");
        LongStream.of(0, 0x1800, 0x1_0000_0000L)
                .forEach(size -> assertThatThrownBy(() -> call.map(sg, 1, 0, size, setter))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessage("page size 0x" + Long.toHexString(size) + " is no power of two of 32 bits"));
        assertThatThrownBy(() -> call.map(sg, 1, -1, PAGE, setter))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("offset 0xffffffffffffffff is not a 32-bit number");
        assertThatThrownBy(() -> call.map(sg, 2, 0, PAGE, setter))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("2 segments of a list of 1");
        assertThat(call.map(sg, 1, 0, 0x8000_0000L, setter)).isEqualTo(1);
    }
}
