package io.pagewalk.dma.debug;

import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Which errors the kernel would print, and the files in which it tells of itself. */
class LimitsTest {
    private static final DmaDebugOptions UNASKED = DmaDebugOptions.DEFAULT.withMapErrors(false);

    private static Feed errors(DmaDebugOptions options, int count) {
        Feed feed = new Feed(options);
        for (int i = 0; i < count; i++) {
            feed.unmap(0x1000L * i, 8, TO_DEVICE);
        }
        return feed;
    }

    @Test
    @DisplayName("DBG-7: only the first is shown, all are counted")
    void oneErrorIsShown() {
        Feed feed = errors(DmaDebugOptions.DEFAULT, 3);
        assertThat(feed.heard).extracting(DmaDebugReport::shown).containsExactly(true, false, false);
        assertThat(feed.heard).extracting(DmaDebugReport::number).containsExactly(1L, 2L, 3L);
        assertThat(feed.debug.errorCount()).isEqualTo(3);
        assertThat(feed.debug.files().read("num_errors")).isEqualTo("0\n");
        feed.debug.files().write("num_errors", "1\n");
        feed.unmap(0x9000, 8, TO_DEVICE).unmap(0x9000, 8, TO_DEVICE);
        assertThat(feed.heard.subList(3, 5)).extracting(DmaDebugReport::shown).containsExactly(true, false);
    }

    @Test
    @DisplayName("DBG-7: all_errors keeps num_errors")
    void allErrorsAreShownWhenAsked() {
        Feed feed = errors(DmaDebugOptions.DEFAULT.withErrorsShown(2).withAllErrors(true), 4);
        assertThat(feed.heard).extracting(DmaDebugReport::shown).containsOnly(true);
        assertThat(feed.debug.files().read("num_errors")).isEqualTo("2\n");
        feed.debug.files().write("all_errors", "0");
        feed.unmap(0, 8, TO_DEVICE).unmap(0, 8, TO_DEVICE).unmap(0, 8, TO_DEVICE);
        assertThat(feed.heard.subList(4, 7)).extracting(DmaDebugReport::shown).containsExactly(true, true, false);
        assertThatThrownBy(() -> DmaDebugOptions.DEFAULT.withErrorsShown(-1)).hasMessage("-1 errors");
    }

    @Test
    @DisplayName("DBG-7: the prefix")
    void thePrefixNamesDriverElseBusElseNothing() {
        Feed feed = new Feed().unmap(0, 8, TO_DEVICE);
        assertThat(feed.text()).startsWith("DMA-API: e1000 0000:00:08.0: device driver");
        feed.as(new DebugDevice("eth0", null, "platform")).unmap(0, 8, TO_DEVICE);
        assertThat(feed.text()).startsWith("DMA-API: platform eth0: device driver");
        feed.as(new DebugDevice("eth0", null, null)).unmap(0, 8, TO_DEVICE);
        assertThat(feed.text()).startsWith("DMA-API: eth0: device driver");
        feed.as(null).unmap(0, 8, TO_DEVICE);
        assertThat(feed.text()).startsWith("DMA-API: NULL NULL: device driver");
    }

    @Test
    @DisplayName("DBG-7, DBG-8: a filtered report takes from the limit")
    void theFilterSuppressesAndTheLimitGoesDown() {
        Feed feed = new Feed(DmaDebugOptions.DEFAULT.withCommandLine("dma_debug_driver=nvme"));
        feed.unmap(0, 8, TO_DEVICE);
        feed.as(Feed.DISK).unmap(0, 8, TO_DEVICE);
        assertThat(feed.heard).extracting(DmaDebugReport::shown).containsExactly(false, false);
        Feed two = new Feed(DmaDebugOptions.DEFAULT.withDriver("nvme").withErrorsShown(9));
        two.unmap(0, 8, TO_DEVICE).as(Feed.DISK).unmap(0, 8, TO_DEVICE).as(null).unmap(0, 8, TO_DEVICE);
        two.as(new DebugDevice("eth0", null, "pci")).unmap(0, 8, TO_DEVICE);
        assertThat(two.heard).extracting(DmaDebugReport::shown).containsExactly(false, true, false, false);
        assertThat(two.debug.files().read("num_errors")).isEqualTo("5\n");
    }

    @Test
    @DisplayName("DBG-8: 63 characters of the name count")
    void longNamesAreComparedInTheirFirst63Characters() {
        String name = "d".repeat(63);
        DriverFilter filter = new DriverFilter(name + "x");
        assertThat(filter.passes(new DebugDevice("a", name + "y", null))).isTrue();
        assertThat(filter.passes(new DebugDevice("b", name + "z", null)))
                .as("another driver than the one that was found first")
                .isFalse();
        assertThat(filter.passes(new DebugDevice("a", name + "y", null))).isTrue();
    }

    @Test
    @DisplayName("DBG-75: writing the filter")
    void theFilterTakesOneTokenAndForgetsTheDriver() {
        DmaDebugFiles files = new Feed().debug.files();
        assertThat(files.read("driver_filter")).isEmpty();
        assertThat(files.write("driver_filter", "nvme core\n")).isEqualTo(10);
        assertThat(files.read("driver_filter")).isEqualTo("nvme\n");
        assertThat(files.write("driver_filter", " e1000\n")).isEqualTo(7);
        assertThat(files.read("driver_filter")).isEmpty();
        files.write("driver_filter", "a".repeat(70));
        assertThat(files.read("driver_filter")).isEqualTo("a".repeat(63) + "\n");
        files.write("driver_filter", "");
        assertThat(files.read("driver_filter")).isEmpty();
        files.write("driver_filter", "\u00e91000");
        assertThat(files.read("driver_filter")).as("ASCII").isEmpty();
        DriverFilter filter = new DriverFilter("e1000");
        assertThat(filter.passes(Feed.NIC)).isTrue();
        filter.write("nvme");
        assertThat(filter.passes(Feed.NIC)).isFalse();
        assertThat(filter.passes(Feed.DISK)).isTrue();
    }

    @Test
    @DisplayName("DBG-74")
    void theFilesTellTheNumbers() {
        Feed feed = errors(UNASKED.withEntries(64), 2).map(0x1000, 8, TO_DEVICE).map(0x3000, 8, TO_DEVICE);
        feed.unmap(0x1000, 8, TO_DEVICE);
        DmaDebugFiles files = feed.debug.files();
        assertThat(files.read("disabled")).isEqualTo("N\n");
        assertThat(files.read("error_count")).isEqualTo("2\n");
        assertThat(files.read("all_errors")).isEqualTo("0\n");
        assertThat(files.read("num_free_entries")).isEqualTo("63\n");
        assertThat(files.read("min_free_entries")).isEqualTo("62\n");
        assertThat(files.read("nr_total_entries")).isEqualTo("64\n");
        for (String name : DmaDebugFiles.NAMES) {
            boolean writable = name.equals("all_errors") || name.equals("num_errors") || name.equals("driver_filter");
            assertThat(files.mode(name)).as(name).isEqualTo(writable ? 0644 : 0444);
        }
        assertThatThrownBy(() -> files.write("dump", "")).hasMessage("dump is read-only");
        assertThatThrownBy(() -> files.read("dumps")).hasMessageStartingWith("there is no file dumps in dma-api");
        assertThatThrownBy(() -> files.write("num_errors", "-1")).isInstanceOf(NumberFormatException.class);
        files.write("num_errors", "4294967295");
        assertThat(files.read("num_errors")).isEqualTo("4294967295\n");
    }

    @Test
    @DisplayName("DBG-76")
    void theDumpHasALineForEachRecord() {
        Feed feed = new Feed().map(0x1234_5678L, 0x20, FROM_DEVICE).asked(0x1234_5678L);
        feed.as(new DebugDevice("eth0", null, "platform")).map(0x1000, 8, TO_DEVICE, 0, 0x2000);
        feed.debug.accept(new DmaCall.Alloc(
                feed.caller(), MappingType.NONCOHERENT, DmaCall.UNKNOWN_PHYS_ADDR, 8, TO_DEVICE, 0, 0x4000));
        assertThat(feed.debug.files().read("dump")).isEqualTo("""
                platform eth0 single idx 1 P=0x0000000000001000 D=2000 L=8 cln=0x40 DMA_TO_DEVICE dma map error not checked
                platform eth0 noncoherent idx 2 P=unknown D=4000 L=8 cln=unknown DMA_TO_DEVICE dma map error check not applicable
                e1000 0000:00:08.0 single idx 4514 P=0x0000000012345678 D=12345678 L=20 cln=0x48d159 DMA_FROM_DEVICE dma map error checked
                """);
        assertThat(new Feed().as(null).map(0, 8, TO_DEVICE).debug.files().read("dump"))
                .startsWith("NULL NULL single");
    }

    @Test
    void theLatestReportsAreKeptAndAllAreCounted() {
        Feed feed = errors(DmaDebugOptions.DEFAULT.withKeptReports(2), 5);
        assertThat(feed.debug.reports()).extracting(DmaDebugReport::number).containsExactly(4L, 5L);
        assertThat(feed.debug.count(DmaDebugKind.NOT_ALLOCATED)).isEqualTo(5);
        assertThat(feed.debug.count(DmaDebugKind.LEAK)).isZero();
        assertThat(feed.debug.counts()).containsOnlyKeys(DmaDebugKind.NOT_ALLOCATED);
        assertThat(feed.debug.reportCount()).isEqualTo(5);
        assertThat(errors(DmaDebugOptions.DEFAULT.withKeptReports(0), 5).debug.reports())
                .isEmpty();
        assertThatThrownBy(() -> DmaDebugOptions.DEFAULT.withKeptReports(-1)).hasMessage("-1 reports");
    }
}
