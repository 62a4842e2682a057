package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Walks by pages and by pieces: dma-core:SGH-1, SGH-2. */
class SgIteratorsTest {
    private final SgPageIter pages = new SgPageIter();
    private final SgMappingIter pieces = new SgMappingIter();

    private List<String> cpuPages(SgTable sg, int nents, long firstPage) {
        List<String> found = new ArrayList<>();
        for (pages.startCpu(sg, nents, firstPage); pages.next(); ) {
            found.add(pages.entry() + "." + pages.pageInEntry() + " " + Addresses.hex(pages.pageAddr()));
        }
        return found;
    }

    private List<String> dmaPages(SgTable sg, int nents) {
        List<String> found = new ArrayList<>();
        for (pages.startDma(sg, nents, 0); pages.next(); ) {
            found.add(pages.entry() + "." + pages.pageInEntry() + " " + Addresses.hex(pages.dmaAddr()));
        }
        return found;
    }

    private List<String> rest() {
        List<String> found = new ArrayList<>();
        while (pieces.next()) {
            found.add(Addresses.hexRange(pieces.physAddr(), pieces.sizeBytes()));
        }
        return found;
    }

    @Test
    void anEntryCoversThePagesOfItsOffsetAndLength() { // SGH-1
        SgTable sg = new SgTable(4)
                .add(0x10000, 0xfff, 1)
                .add(0x20000, 0xfff, 2)
                .add(0x30000, 0, 0)
                .add(0x40000, 0x1001, 0xfff)
                .add(0x50000, 0x1001, 0);

        assertThat(cpuPages(sg, 5, 0))
                .containsExactly(
                        "0.0 0x10000",
                        "1.0 0x20000",
                        "1.1 0x21000",
                        "3.0 0x40000",
                        "3.1 0x41000",
                        "4.0 0x50000",
                        "4.1 0x51000");
        assertThat(cpuPages(sg, 2, 0)).hasSize(3);
        assertThat(cpuPages(sg, 5, 2)).first().isEqualTo("1.1 0x21000");
        assertThat(cpuPages(sg, 5, 3)).first().isEqualTo("3.0 0x40000");
        assertThat(cpuPages(sg, 5, 7)).isEmpty();
        assertThat(cpuPages(sg, 0, 0)).isEmpty();
    }

    @Test
    void anEntryOfAlmostFourGigabytesHasAllItsPages() { // SGH-1, SG-1
        SgTable sg = new SgTable(1).add(0x1_0000_0000L, 0xfff, 0xffff_ffffL);

        int count = 0;
        for (pages.startCpu(sg, 1, 0xf_fff0); pages.next(); ) {
            count++;
        }
        assertThat(count).isEqualTo(0x11);
        assertThat(pages.startCpu(sg, 1, 0x10_0000).next()).isTrue();
        assertThat(pages.pageAddr()).isEqualTo(0x2_0000_0000L);
    }

    @Test
    void aWalkEndsAtEnd() { // SGH-1, SG-4
        SgTable sg = new SgTable(3).add(0x10000, 1).add(0x20000, 1).add(0x30000, 1);
        sg.markEnd(1);

        assertThat(cpuPages(sg, 3, 0)).containsExactly("0.0 0x10000", "1.0 0x20000");
        assertThat(cpuPages(new SgTable(1), 3, 0)).isEmpty();
        assertThat(pages.next()).isFalse();
    }

    @Test
    void theDevicesPagesGoByDmaLengthsAndAreNotRounded() { // SGH-1
        SgTable sg = new SgTable(2).add(0x10000, 0x234, 0x5000).add(0x20000, 0, 0x10);
        sg.setDma(0, 0xabc234, 0x1000);
        sg.setDma(1, 0xff000, 0x1001);

        assertThat(dmaPages(sg, 2)).containsExactly("0.0 0xabc234", "0.1 0xabd234", "1.0 0xff000", "1.1 0x100000");
        assertThat(dmaPages(sg, 1)).hasSize(2);
        assertThat(pages.startDma(sg, 2, 3).next()).isTrue();
        assertThat(pages.dmaAddr()).isEqualTo(0x100000);
    }

    @Test
    void pagesAreRefusedToNegativeNumbersAndBeforeAStart() {
        SgTable sg = new SgTable(1).add(0x1000, 1);
        assertThatThrownBy(() -> pages.startCpu(sg, -1, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("-1 entries from page 0");
        assertThatThrownBy(() -> pages.startDma(sg, 1, -1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(pages::pageAddr)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("the iterator was not started");
        assertThat(new SgPageIter().next()).isFalse();
        assertThat(new SgMappingIter().next()).isFalse();
        assertThatThrownBy(() -> pieces.start(sg, -1)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aPieceLiesInOnePage() { // SGH-2
        SgTable sg = new SgTable(3)
                .add(0x10000, 0xf00, 0x1200)
                .add(0x20000, 0x10, 0x20)
                .add(0x30000, 0x2010, 0xff0);
        pieces.start(sg, 3);

        assertThat(rest())
                .containsExactly("0x10f00+0x100", "0x11000+0x1000", "0x12000+0x100", "0x20010+0x20", "0x32010+0xff0");
        assertThat(pieces.sizeBytes()).isZero();
        assertThat(pieces.next()).isFalse();
        assertThat(pieces.start(sg, 1).next()).isTrue();
        pieces.start(sg, 1);
        assertThat(rest()).hasSize(3);
    }

    @Test
    void entriesWithoutBytesGiveNoPieceOrAnEmptyOne() { // SGH-2
        SgTable sg = new SgTable(3).add(0x10000, 0, 0).add(0x20000, 0x1010, 0).add(0x30000, 0, 4);
        pieces.start(sg, 3);

        assertThat(rest()).containsExactly("0x21010+0x0", "0x30000+0x4");
    }

    @Test
    void whatWasNotConsumedComesAgain() { // SGH-2
        pieces.start(new SgTable(1).add(0x10ff0, 0x30), 1);
        assertThat(pieces.next()).isTrue();
        pieces.consume(0x6);
        assertThat(pieces.next()).isTrue();
        assertThat(Addresses.hexRange(pieces.physAddr(), pieces.sizeBytes())).isEqualTo("0x10ff6+0xa");
        assertThatThrownBy(() -> pieces.consume(0xb))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("11 bytes of a piece of 10");
        assertThatThrownBy(() -> pieces.consume(-1)).isInstanceOf(IllegalArgumentException.class);
        pieces.consume(0xa);
        pieces.consume(0);
        pieces.stop();
        assertThat(pieces.sizeBytes()).isZero();
        pieces.stop();
        assertThat(rest()).containsExactly("0x10ff6+0xa", "0x11000+0x20");
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 0xf, 0x10, 0x11, 0x2f, 0x30, 0x31, 0x40})
    void skippedBytesAreLeftOut(long skip) { // SGH-2
        pieces.start(new SgTable(2).add(0x10ff0, 0x30).add(0x20000, 0x10), 2);

        assertThat(pieces.skip(skip)).isTrue();
        long left = 0;
        long first = 0;
        while (pieces.next()) {
            first = left == 0 ? pieces.physAddr() : first;
            left += pieces.sizeBytes();
        }
        assertThat(left).isEqualTo(0x40 - skip);
        assertThat(first).isEqualTo(skip == 0x40 ? 0 : skip < 0x30 ? 0x10ff0 + skip : 0x20000 + skip - 0x30);
    }

    @Test
    void skippingPastTheEndFails() { // SGH-2, SGH-3
        SgTable sg = new SgTable(2).add(0x10ff0, 0x30).add(0x20000, 0x10);
        assertThat(pieces.start(sg, 2).skip(0x41)).isFalse();
        assertThat(pieces.start(sg, 1).skip(0x31)).isFalse();
        assertThatThrownBy(() -> pieces.skip(-1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("skip of -1 bytes");
    }

    @Test
    void aSkipGoesOnBehindWhatWasConsumed() { // SGH-2
        pieces.start(new SgTable(1).add(0x10ff0, 0x30), 1);
        pieces.next();
        pieces.consume(4);
        assertThat(pieces.skip(0xe)).isTrue();
        assertThat(rest()).containsExactly("0x11002+0x1e");
    }
}
