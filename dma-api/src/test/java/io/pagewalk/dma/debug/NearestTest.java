package io.pagewalk.dma.debug;

import static io.pagewalk.dma.DmaDirection.FROM_DEVICE;
import static io.pagewalk.dma.DmaDirection.TO_DEVICE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.debug.NearMapping.Position;
import io.pagewalk.dma.memory.VirtRange;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** What a report adds to the kernel's words: what lies nearest, and what was there last. */
class NearestTest {
    private static final DmaDebugOptions UNASKED =
            DmaDebugOptions.DEFAULT.withMapErrors(false).withProfile(DmaDebugProfile.EVERYTHING);

    private final Feed feed = new Feed(UNASKED);

    private NearMapping near(long dmaAddr) {
        feed.unmap(dmaAddr, 1, TO_DEVICE);
        return Objects.requireNonNull(feed.heard.get(feed.heard.size() - 1).near());
    }

    @Test
    void theNearestEndOrStartIsNamed() {
        feed.map(0x1000, 0x100, TO_DEVICE).map(0x3000, 0x100, TO_DEVICE);
        assertThat(near(0x1100)).satisfies(n -> {
            assertThat(n.position()).isEqualTo(Position.ABOVE);
            assertThat(n.distanceBytes()).isZero();
            assertThat(n.describe()).isEqualTo("0 bytes past the end of single mapping 0x1000+0x100 TO_DEVICE");
        });
        assertThat(near(0x2ff0)).satisfies(n -> {
            assertThat(n.position()).isEqualTo(Position.BELOW);
            assertThat(n.distanceBytes()).isEqualTo(0x10);
            assertThat(n.describe()).isEqualTo("16 bytes before single mapping 0x3000+0x100 TO_DEVICE");
        });
        assertThat(near(0x2080).mapping().dmaAddr()).as("as far: the lower one").isEqualTo(0x1000);
        assertThat(near(0x2081).mapping().dmaAddr()).isEqualTo(0x3000);
        assertThat(near(0x100).mapping().dmaAddr()).as("nothing below").isEqualTo(0x1000);
        assertThat(near(-0x1000L).mapping().dmaAddr()).as("nothing above").isEqualTo(0x3000);
    }

    @Test
    void aMappingThatReachesTheAddressWinsOverOneThatStartsLater() {
        feed.map(0x1000, 0x4000, TO_DEVICE);
        for (int i = 0; i < 63; i++) {
            feed.map(0x1010 + i * 0x10L, 8, TO_DEVICE);
        }
        assertThat(near(0x2000)).satisfies(n -> {
            assertThat(n.position()).isEqualTo(Position.INSIDE);
            assertThat(n.mapping().dmaAddr()).isEqualTo(0x1000);
            assertThat(n.distanceBytes()).isEqualTo(0x1000);
        });
        feed.map(0x1ff0, 8, TO_DEVICE);
        assertThat(near(0x2000).position()).as("however many start between").isEqualTo(Position.INSIDE);
    }

    @Test
    void otherDevicesAndEndedMappingsAreNotNear() {
        feed.as(Feed.DISK).map(0x1000, 0x100, TO_DEVICE).as(Feed.NIC);
        feed.map(0x9000, 8, TO_DEVICE).unmap(0x9000, 8, TO_DEVICE).unmap(0x1000, 8, TO_DEVICE);
        DmaDebugReport report = feed.heard.get(0);
        assertThat(report.near()).isNull();
        assertThat(report.lastUnmap()).isNull();
    }

    @Test
    void theLatestUnmapThatHeldTheAddressIsNamed() {
        feed.now = 10;
        feed.map(0x1000, 0x100, TO_DEVICE).unmap(0x1000, 0x100, TO_DEVICE);
        feed.now = 20;
        feed.map(0x1080, 0x100, FROM_DEVICE).unmap(0x1080, 0x100, FROM_DEVICE);
        feed.now = 50;
        feed.unmap(0x10ff, 1, TO_DEVICE).unmap(0x107f, 1, TO_DEVICE).unmap(0x1180, 1, TO_DEVICE);
        assertThat(last(0)).satisfies(e -> {
            assertThat(e.mapping().dmaAddr()).isEqualTo(0x1080);
            assertThat(e.atNanos()).isEqualTo(20);
            assertThat(e.describe(50)).isEqualTo("single mapping 0x1080+0x100 FROM_DEVICE, unmapped 30 ns ago");
        });
        assertThat(last(1).mapping().dmaAddr()).isEqualTo(0x1000);
        assertThat(feed.heard.get(2).lastUnmap()).isNull();
    }

    private EndedMapping last(int report) {
        return Objects.requireNonNull(feed.heard.get(report).lastUnmap());
    }

    @Test
    void asManyEndedMappingsAreRememberedAsIsSaid() {
        for (int i = 0; i <= AddressBook.REMEMBERED; i++) {
            feed.map(i * 0x1000L, 8, TO_DEVICE).unmap(i * 0x1000L, 8, TO_DEVICE);
        }
        feed.unmap(0x1000, 8, TO_DEVICE).unmap(0, 8, TO_DEVICE);
        assertThat(feed.heard.get(0).lastUnmap()).isNotNull();
        assertThat(feed.heard.get(1).lastUnmap()).as("the oldest").isNull();
    }

    @Test
    void whoEndedAMappingAndWhereIsSaid() {
        Caller first = new Caller(Feed.NIC, 0, 0, "fio-1", "line 1");
        Caller second = new Caller(Feed.NIC, 0, 70, "fio-2", "line 2");
        feed.debug.accept(new DmaCall.MapPage(first, 0x1000, 8, TO_DEVICE, 0, 0x1000));
        feed.debug.accept(new DmaCall.UnmapPage(second, 0x1000, 8, TO_DEVICE));
        feed.debug.accept(new DmaCall.UnmapPage(second, 0x1000, 8, TO_DEVICE));
        assertThat(feed.heard.get(0).line())
                .endsWith(
                        "; last there: single mapping 0x1000+0x8 TO_DEVICE of fio-1 (line 1), unmapped 0 ns ago by fio-2 (line 2)"
                                + "; called by fio-2 at line 2");
        assertThat(feed.heard.get(0)).hasToString(feed.heard.get(0).line());
    }

    @Test
    void pagesAreHeldByEveryMappingThatReachesThem() {
        feed.map(0x1ff8, 0x10, FROM_DEVICE, 0, 0x8000).map(0x2100, 8, TO_DEVICE, 0, 0x9000);
        feed.mapSg(TO_DEVICE, 2, 1, new Segment(0x5000, 8, 0xa000, 16), new Segment(0x2200, 8, -1L, 0));
        freed(0x1000);
        freed(0x3000);
        freed(0x2000);
        assertThat(feed.heard)
                .extracting(r -> Objects.requireNonNull(r.mapping()).dmaAddr())
                .containsExactly(0x8000L, 0x8000L, 0x9000L, 0xa000L);
        feed.unmap(0x8000, 0x10, FROM_DEVICE);
        freed(0x2000);
        freed(0x1000);
        assertThat(feed.heard).hasSize(6);
        feed.map(0x6000, 0, TO_DEVICE, 0, 0xc000);
        freed(0x6000);
        assertThat(feed.heard).as("nothing is mapped there").hasSize(6);
    }

    private void freed(long physAddr) {
        feed.debug.accept(new DmaCall.PageFreed(new Caller(null, -1, 0, null, null), physAddr));
    }

    @Test
    void optionsSayWhatTheyWereTold() {
        DmaDebugOptions options = DmaDebugOptions.DEFAULT;
        assertThat(options.profile()).isEqualTo(DmaDebugProfile.NON_COHERENT_PLATFORM);
        assertThat(options.disabled()).isFalse();
        assertThat(options.entries()).isEqualTo(65536);
        assertThat(options.driver()).isEmpty();
        assertThat(options.errorsShown()).isEqualTo(1);
        assertThat(options.allErrors()).isFalse();
        assertThat(options.mapErrors()).isTrue();
        assertThat(options.segments()).isTrue();
        assertThat(options.callSites()).isFalse();
        assertThat(options.cachelineShift()).isEqualTo(6);
        assertThat(options.keptReports()).isEqualTo(1024);
        assertThat(options.kernelImage()).isEmpty();
        DmaDebugOptions changed = options.withProfile(DmaDebugProfile.EVERYTHING)
                .withEntries(5)
                .withDriver("nvme")
                .withErrorsShown(7)
                .withAllErrors(true)
                .withMapErrors(false)
                .withSegments(false)
                .withCallSites(true)
                .withCachelineShift(12)
                .withKeptReports(3)
                .withKernelImage(new VirtRange(0x1000, 0x1fff))
                .withCommandLine("dma_debug=off");
        assertThat(changed.profile()).isEqualTo(DmaDebugProfile.EVERYTHING);
        assertThat(changed.disabled()).isTrue();
        assertThat(changed.entries()).isEqualTo(5);
        assertThat(changed.driver()).isEqualTo("nvme");
        assertThat(changed.errorsShown()).isEqualTo(7);
        assertThat(changed.allErrors()).isTrue();
        assertThat(changed.mapErrors()).isFalse();
        assertThat(changed.segments()).isFalse();
        assertThat(changed.callSites()).isTrue();
        assertThat(changed.cachelineShift()).isEqualTo(12);
        assertThat(changed.keptReports()).isEqualTo(3);
        assertThat(changed.kernelImage()).hasSize(1);
        assertThat(options.withCachelineShift(0).cachelineShift()).isZero();
        assertThat(feed.debug.options()).isSameAs(UNASKED);
    }

    @Test
    void whatNoKernelLooksAtIsMarked() {
        for (DmaDebugKind kind : DmaDebugKind.values()) {
            boolean extra = kind == DmaDebugKind.PAGE_FREED_WHILE_MAPPED || kind == DmaDebugKind.CPU_TOUCHES_MAPPING;
            assertThat(kind.isKernels()).as("%s", kind).isEqualTo(!extra);
            assertThat(kind.isCounted()).as("%s", kind).isEqualTo(!extra && kind != DmaDebugKind.CACHELINE_EXCEEDED);
        }
    }
}
