package io.pagewalk.backends.iommu.unit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pagewalk.dma.spi.BackendOptions;
import org.junit.jupiter.api.Test;

/** The bytes that driver and unit exchange, as the specification's examples have them. */
class LayoutsTest {
    /** iommu:CTX-4. */
    @Test
    void contextEntriesHaveTheBytesOfTheExamples() {
        assertThat(ContextLayout.contextLow(0x1234_5000L, ContextLayout.TT_TABLES))
                .isEqualTo(0x1234_5001L);
        assertThat(ContextLayout.contextHigh(5, 2)).isEqualTo(0x502);
        assertThat(ContextLayout.contextLow(0x1234_5000L, ContextLayout.TT_DEVICE_TLB))
                .isEqualTo(0x1234_5005L);
        assertThat(ContextLayout.contextLow(0, ContextLayout.TT_PASS_THROUGH)).isEqualTo(0x9);
        assertThat(ContextLayout.contextHigh(1, 3)).isEqualTo(0x103);
    }

    @Test
    void contextEntriesAreReadAsTheyAreWritten() {
        long low = ContextLayout.contextLow(0x1234_5000L, ContextLayout.TT_PASS_THROUGH);
        long high = ContextLayout.contextHigh(0xfffe, 3);

        assertThat(ContextLayout.pointer(low)).isEqualTo(0x1234_5000L);
        assertThat(ContextLayout.translationType(low)).isEqualTo(ContextLayout.TT_PASS_THROUGH);
        assertThat(ContextLayout.isPresent(low)).isTrue();
        assertThat(ContextLayout.disablesFaults(low)).isFalse();
        assertThat(ContextLayout.domainId(high)).isEqualTo(0xfffe);
        assertThat(ContextLayout.agaw(high)).isEqualTo(3);
    }

    /** iommu:INV-5. */
    @Test
    void iotlbDescriptorsHaveTheBytesOfTheExamples() {
        assertThat(InvalidationLayout.iotlb(InvalidationLayout.PAGES, 5)).isEqualTo(0x5_00f2L);
        assertThat(InvalidationLayout.pages(0x1_0000, 3, true)).isEqualTo(0x1_0043L);
        assertThat(InvalidationLayout.iotlb(InvalidationLayout.DOMAIN, 5)).isEqualTo(0x5_00e2L);
        assertThat(InvalidationLayout.iotlb(InvalidationLayout.GLOBAL, 0)).isEqualTo(0xd2L);
    }

    /** iommu:INV-6. */
    @Test
    void contextDescriptorsHaveTheBytesOfTheExamples() {
        assertThat(InvalidationLayout.context(InvalidationLayout.DEVICE, 5, 0x310))
                .isEqualTo(0x310_0005_0031L);
        assertThat(InvalidationLayout.context(InvalidationLayout.GLOBAL, 0, 0)).isEqualTo(0x11L);
    }

    /** iommu:INV-7. */
    @Test
    void aWaitHasTheBytesOfTheExample() {
        assertThat(InvalidationLayout.waitWriting(InvalidationLayout.DONE)).isEqualTo(0x2_0000_0025L);
    }

    /** iommu:VTD-1. */
    @Test
    void widthsAndLevelsBelongTogether() {
        assertThat(VtdCapability.widthOfAgaw(1)).isEqualTo(39);
        assertThat(VtdCapability.widthOfAgaw(2)).isEqualTo(48);
        assertThat(VtdCapability.widthOfAgaw(3)).isEqualTo(57);
        assertThat(VtdCapability.levelsOfAgaw(1)).isEqualTo(3);
        assertThat(VtdCapability.agawOfWidth(39)).isEqualTo(1);
        assertThat(VtdCapability.agawOfWidth(40)).isEqualTo(2);
        assertThat(VtdCapability.agawOfWidth(57)).isEqualTo(3);
    }

    /** A direct-mapped IOTLB, no paging-structure caches. */
    private static VtdFeatures features(
            int width, int largeLevels, int hostBits, int entries, int records, int addressMask, boolean snoops) {
        return new VtdFeatures(
                width,
                largeLevels,
                hostBits,
                new VtdFeatures.CacheShape(entries, 1),
                VtdFeatures.CacheShape.NONE,
                records,
                addressMask,
                snoops,
                true,
                false);
    }

    /** iommu:VTD-2, VTD-3, VTD-5. */
    @Test
    void capabilitiesAreReadAsTheyAreWritten() {
        VtdFeatures features = features(42, 1, 46, 64, 5, 9, true);
        long cap = VtdCapability.cap(features);

        assertThat(VtdCapability.highestAgaw(cap)).isEqualTo(2);
        assertThat(VtdCapability.mgaw(cap)).isEqualTo(42);
        assertThat(VtdCapability.domainIds(cap)).isEqualTo(65536);
        assertThat(VtdCapability.largeLevels(cap)).isEqualTo(1);
        assertThat(VtdCapability.pageSelective(cap)).isTrue();
        assertThat(VtdCapability.maxAddressMask(cap)).isEqualTo(9);
        assertThat(VtdCapability.faultRecords(cap)).isEqualTo(5);
        assertThat(VtdCapability.faultRecordOffset(cap)).isEqualTo(VtdRegisters.FRCD);
        assertThat(cap >>> 7 & 1).as("caching mode").isZero();
        assertThat(VtdCapability.largeLevels(VtdCapability.cap(features(48, 0, 52, 1, 1, 0, false))))
                .isZero();
        assertThat(VtdCapability.largeLevels(VtdCapability.cap(VtdFeatures.DEFAULT)))
                .isEqualTo(2);
        assertThat(VtdCapability.ecap(features) & 0xff).isEqualTo(0xc3);
    }

    @Test
    void aUnitWithoutAnyWidthIsRefused() {
        assertThatThrownBy(() -> VtdCapability.highestAgaw(0)).hasMessage("CAP 0x0 supports no table width");
    }

    @Test
    void optionsMakeTheFeatures() {
        VtdFeatures features = VtdFeatures.of(BackendOptions.NONE
                .with("iommu.widthBits", 39)
                .with("iommu.superpages", 0)
                .with("iommu.iotlbEntries", 16)
                .with("iommu.faultRecords", 1));

        assertThat(features)
                .isEqualTo(new VtdFeatures(
                        39,
                        0,
                        52,
                        new VtdFeatures.CacheShape(16, 4),
                        new VtdFeatures.CacheShape(32, 4),
                        1,
                        18,
                        true,
                        true,
                        false));
        assertThat(VtdFeatures.of(BackendOptions.NONE)).isEqualTo(VtdFeatures.DEFAULT);
    }

    @Test
    void numbersOutOfRangeAreRefusedWithTheNumber() {
        assertThatThrownBy(() -> VtdFeatures.of(BackendOptions.NONE.with("iommu.widthBits", 30)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("a VT-d unit has a width of 31 to 57 bits, not 30");
        assertThatThrownBy(() -> VtdFeatures.of(BackendOptions.NONE.with("iommu.iotlbEntries", 3)))
                .hasMessage("a VT-d unit has a power of two of cache entries, or 0, not 3");
    }
}
