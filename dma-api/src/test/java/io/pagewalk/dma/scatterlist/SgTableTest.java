package io.pagewalk.dma.scatterlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** Scatterlists: dma-core:SG-1, SG-2, SG-5 to SG-7. */
class SgTableTest {
    private static final long U32_MAX = 0xffff_ffffL;

    @Test
    void anEntryIsAPageAndAnOffset() { // SG-1, SG-6
        SgTable sg = new SgTable(1).add(0x1_2345_6a00L, 0x1800);

        assertThat(sg.pageAddr(0)).isEqualTo(0x1_2345_6000L);
        assertThat(sg.offset(0)).isEqualTo(0xa00);
        assertThat(sg.physAddr(0)).isEqualTo(0x1_2345_6a00L);
        assertThat(sg.lengthBytes(0)).isEqualTo(0x1800);
    }

    @Test
    void anOffsetMayExceedAPage() { // SG-6
        SgTable sg = new SgTable(1).add(0x4000, 0x5123, 0x10);

        assertThat(sg.pageAddr(0)).isEqualTo(0x4000);
        assertThat(sg.offset(0)).isEqualTo(0x5123);
        assertThat(sg.physAddr(0)).isEqualTo(0x9123);
    }

    @Test
    void offsetsAndLengthsAreUnsigned32Bit() { // SG-1
        SgTable sg = new SgTable(1).add(0, U32_MAX, U32_MAX);

        assertThat(sg.offset(0)).isEqualTo(U32_MAX);
        assertThat(sg.lengthBytes(0)).isEqualTo(U32_MAX);
        assertThat(sg.physAddr(0)).isEqualTo(U32_MAX);
        assertThatThrownBy(() -> sg.add(0, 0, U32_MAX + 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("offset 0x0 and length 0x100000000 of an entry are 32-bit (dma-core:SG-1)");
        assertThatThrownBy(() -> sg.add(0, -1L, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> sg.add(0x1234, 0, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("0x1234 is not the address of a page");
        assertThat(sg.origNents()).isEqualTo(1);
    }

    @Test
    void whatAMappingLayerStoresIsTruncatedTo32Bits() { // SG-1
        SgTable sg = new SgTable(1).add(0x3000, 0x10);
        sg.resize(0, 0x1_0000_0123L, 0x2_8000_0000L);
        sg.setDma(0, -1L, 0x3_ffff_ffffL);

        assertThat(sg.offset(0)).isEqualTo(0x123);
        assertThat(sg.physAddr(0)).isEqualTo(0x3123);
        assertThat(sg.lengthBytes(0)).isEqualTo(0x8000_0000L);
        assertThat(sg.dmaAddr(0)).isEqualTo(-1L);
        assertThat(sg.dmaLengthBytes(0)).isEqualTo(U32_MAX);
    }

    @Test
    void entriesAndSegmentsAreCountedApart() { // SG-7
        SgTable sg = new SgTable(4).add(0x1000, 1).add(0x2000, 1).add(0x3000, 1);
        assertThat(sg.nents()).isZero();
        sg.mapped(1);

        assertThat(sg.origNents()).isEqualTo(3);
        assertThat(sg.nents()).isEqualTo(1);
    }

    @Test
    void aTableGrowsAndKeepsWhatItHolds() {
        SgTable sg = new SgTable(1);
        for (int i = 0; i < 100; i++) {
            sg.add(i * 0x1000L, i, i + 1).setDma(i, i * 7L, i * 3L);
        }

        for (int i = 0; i < 100; i++) {
            assertThat(sg.pageAddr(i)).isEqualTo(i * 0x1000L);
            assertThat(sg.offset(i)).isEqualTo(i);
            assertThat(sg.lengthBytes(i)).isEqualTo(i + 1);
            assertThat(sg.dmaAddr(i)).isEqualTo(i * 7L);
            assertThat(sg.dmaLengthBytes(i)).isEqualTo(i * 3L);
        }
        assertThatThrownBy(() -> new SgTable(0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aClearedTableIsAsNew() {
        SgTable sg = new SgTable(2).add(0x1000, 1).add(0x2000, 1);
        sg.setDma(0, 0x9000, 1);
        sg.setDma(1, 0xa000, 1);
        sg.markBounced(true);
        assertThat(sg.isBounced()).isTrue();
        sg.mapped(2);
        sg.clear();

        assertThat(sg.origNents()).isZero();
        assertThat(sg.nents()).isZero();
        assertThat(sg.isBounced()).isFalse();
        sg.add(0x5000, 1).add(0x6000, 1);
        assertThat(sg.dmaAddr(0)).isZero();
        assertThat(sg.dmaLengthBytes(1)).isZero();
    }

    @Test
    void aShapedListIsZeroAndEndsAtItsLastEntry() { // SG-5
        SgTable sg = new SgTable(1).add(0x1000, 0x10, 0x20).add(0x2000, 1);
        sg.setDma(1, 0x99, 9);
        sg.setBusAddress(1, true);
        sg.markEnd(0);
        assertThat(sg.init(3)).isSameAs(sg);

        assertThat(sg.origNents()).isEqualTo(3);
        assertThat(sg.entries()).isEqualTo(3);
        assertThat(sg.chunks()).isEmpty();
        for (int i = 0; i < 3; i++) {
            assertThat(sg.pageAddr(i) | sg.offset(i) | sg.lengthBytes(i) | sg.dmaAddr(i) | sg.dmaLengthBytes(i))
                    .isZero();
            assertThat(sg.isBusAddress(i)).isFalse();
            assertThat(sg.isEnd(i)).isEqualTo(i == 2);
            assertThat(sg.next(i)).isEqualTo(i == 2 ? -1 : i + 1);
        }
        assertThatThrownBy(() -> sg.init(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a list of 0 entries has no last one (dma-core:SG-5)");
        assertThat(sg.origNents()).isEqualTo(3);
        assertThat(sg.init(1).isEnd(0)).isTrue();
    }

    @Test
    void aListOfOneBuffer() { // SG-5
        SgTable sg = new SgTable(2).add(0x1000, 1).add(0x2000, 2);
        assertThatThrownBy(() -> sg.initOne(0x5000, U32_MAX + 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("length 0x100000000 is not a 32-bit number");
        assertThat(sg.origNents()).isEqualTo(2);

        assertThat(sg.initOne(0x5678, U32_MAX)).hasToString("SgTable[origNents=1, nents=0, 0x5678+0xffffffff]");
        assertThat(sg.pageAddr(0)).isEqualTo(0x5000);
        assertThat(sg.offset(0)).isEqualTo(0x678);
        assertThat(SgWalk.nents(sg)).isEqualTo(1);
    }

    @Test
    void settingAPageKeepsEndAndTheDmaSide() { // SG-6
        SgTable sg = new SgTable(1).init(3);
        sg.markEnd(1);
        sg.setDma(1, 0xabc, 0xd);
        sg.setBusAddress(1, true);
        sg.setPage(1, 0x7000, 0x1008, 0x10);

        assertThat(sg.isEnd(1)).isTrue();
        assertThat(sg.isBusAddress(1)).isTrue();
        assertThat(sg.dmaAddr(1)).isEqualTo(0xabc);
        assertThat(sg.dmaLengthBytes(1)).isEqualTo(0xd);
        assertThat(sg.physAddr(1)).isEqualTo(0x8008);
        assertThat(sg.lengthBytes(1)).isEqualTo(0x10);
        assertThatThrownBy(() -> sg.setPage(1, 0x7001, 0, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> sg.setPage(1, 0x9000, U32_MAX + 1, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> sg.setPage(1, 0x9000, 0, -1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> sg.setPage(3, 0x9000, 0, 1))
                .isInstanceOf(IndexOutOfBoundsException.class)
                .hasMessage("entry 3 of a list of 3");
        assertThatThrownBy(() -> sg.setPage(-1, 0x9000, 0, 1)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> sg.markEnd(3)).hasMessage("entry 3 of a list of 3");
        assertThat(sg.physAddr(1)).isEqualTo(0x8008);
    }

    @Test
    void anEndStopsTheWalk() { // SG-3, SG-4
        SgTable sg = new SgTable(3).add(0x1000, 1).add(0x2000, 1).add(0x3000, 1);
        assertThat(sg.isEnd(1)).isFalse();
        sg.markEnd(1);

        assertThat(sg.next(0)).isEqualTo(1);
        assertThat(sg.next(1)).isEqualTo(-1);
        assertThat(sg.next(2)).isEqualTo(-1);
        sg.clear();
        assertThat(sg.entries()).isZero();
        sg.add(0x1000, 1).add(0x2000, 1).add(0x3000, 1);
        assertThat(sg.isEnd(1)).isFalse();
    }

    @Test
    void aBusAddressIsMarkedPerSegment() { // SG-2
        SgTable sg = new SgTable(2).add(0x1000, 1).add(0x2000, 1);
        sg.markEnd(1);
        sg.setBusAddress(1, true);

        assertThat(sg.isBusAddress(0)).isFalse();
        assertThat(sg.isBusAddress(1)).isTrue();
        assertThat(sg.isBounced()).isFalse();
        sg.setBusAddress(1, false);
        assertThat(sg.isBusAddress(1)).isFalse();
        assertThat(sg.isEnd(1)).isTrue();
        sg.setBusAddress(0, true);
        sg.clear();
        assertThat(sg.add(0x1000, 1).isBusAddress(0)).isFalse();
    }

    @Test
    void theTextShowsTheFirstEntries() {
        SgTable sg = new SgTable(2).add(0x1080, 0x10).add(0x2000, 1);
        sg.mapped(1);
        assertThat(sg).hasToString("SgTable[origNents=2, nents=1, 0x1080+0x10, 0x2000+0x1]");

        for (int i = 0; i < 6; i++) {
            sg.add(0x3000, 2);
        }
        assertThat(sg.toString()).startsWith("SgTable[origNents=8").endsWith("0x3000+0x2]");
        sg.add(0x4000, 4);
        assertThat(sg.toString()).startsWith("SgTable[origNents=9").endsWith("0x3000+0x2, ...]");
    }
}
