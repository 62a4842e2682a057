package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.ReservedRegion;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PhysRange;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Reserved regions and how a group's list is kept. */
class RegionListTest {
    private static final int RW = 3;

    private static ReservedRegion region(long first, long last, ReservedRegion.Type type) {
        return new ReservedRegion(first, last - first + 1, RW, type);
    }

    private static List<String> inserted(ReservedRegion... regions) {
        List<ReservedRegion> ordered = new ArrayList<>();
        for (ReservedRegion region : regions) {
            RegionList.insert(ordered, region);
        }
        return ordered.stream()
                .map(r ->
                        String.format("%x-%x %s", r.start(), r.last(), r.type().text()))
                .toList();
    }

    @Test
    @DisplayName("iommu:CORE-31: the reference run: three that overlap and touch become one, another type stays apart")
    void regionsOfOneTypeMerge() {
        assertThat(inserted(
                        region(0x9d000000L, 0x9d1fffffL, ReservedRegion.Type.DIRECT),
                        region(0x9d100000L, 0x9d2fffffL, ReservedRegion.Type.DIRECT),
                        region(0x9d300000L, 0x9d300fffL, ReservedRegion.Type.DIRECT),
                        region(0x9d000000L, 0x9d000fffL, ReservedRegion.Type.DIRECT_RELAXABLE)))
                .containsExactly("9d000000-9d300fff direct", "9d000000-9d000fff direct-relaxable");
    }

    @Test
    @DisplayName("iommu:CORE-31: by start; equal starts by type, the new one first among its own")
    void regionsAreOrderedByStartThenType() {
        assertThat(inserted(
                        region(0x5000, 0x5fff, ReservedRegion.Type.MSI),
                        region(0x1000, 0x1fff, ReservedRegion.Type.RESERVED),
                        region(0x5000, 0x5fff, ReservedRegion.Type.DIRECT),
                        region(0x5000, 0x8fff, ReservedRegion.Type.MSI),
                        region(0x3000, 0x3fff, ReservedRegion.Type.RESERVED)))
                .containsExactly("1000-1fff reserved", "3000-3fff reserved", "5000-5fff direct", "5000-8fff msi");
    }

    @Test
    @DisplayName("iommu:CORE-31: a gap of one byte keeps two apart; one inside the other leaves the larger end")
    void onlyWhatTouchesMerges() {
        assertThat(inserted(
                        region(0x1000, 0x1ffe, ReservedRegion.Type.DIRECT),
                        region(0x2000, 0x2fff, ReservedRegion.Type.DIRECT),
                        region(0x2100, 0x21ff, ReservedRegion.Type.DIRECT)))
                .containsExactly("1000-1ffe direct", "2000-2fff direct");
    }

    private static List<String> regionsOf(DeviceConfig config) {
        try (Machine machine = World.builder().build()) {
            return RegionList.of(machine.addDevice(config)).stream()
                    .map(ReservedRegion::line)
                    .toList();
        }
    }

    @Test
    @DisplayName("iommu:CORE-30, CORE-33: firmware regions bind, but for USB and display; MSI comes last, for all")
    void firmwareRegionsBindByClass() {
        PhysRange rmrr = new PhysRange(0x9d00_0000L, 0x9d1f_ffffL);
        DeviceConfig config = DeviceConfig.named("dev").withFirmwareRegions(rmrr);
        String range = "0x000000009d000000 0x000000009d1fffff ";
        String msi = "0x00000000fee00000 0x00000000feefffff msi";
        assertThat(regionsOf(config)).containsExactly(range + "direct", msi);
        assertThat(regionsOf(config.withPciClass(0x0c03))).containsExactly(range + "direct-relaxable", msi);
        assertThat(regionsOf(config.withPciClass(0x0300))).containsExactly(range + "direct-relaxable", msi);
        assertThat(regionsOf(config.withPciClass(0x0380))).containsExactly(range + "direct-relaxable", msi);
        assertThat(regionsOf(config.withPciClass(0x0c05))).containsExactly(range + "direct", msi);
        assertThat(regionsOf(DeviceConfig.named("lpc").withPciClass(0x0601)))
                .containsExactly("0x0000000000000000 0x0000000000ffffff direct-relaxable", msi);
    }

    @Test
    @DisplayName("iommu:CORE-34: a region that is not whole pages is reported, and used all the same")
    void badFirmwareRegionIsReportedAndUsed() {
        try (World world = World.strict(config ->
                config.withFirmwareRegions(new PhysRange(0x10_0000, 0x10_1fff), new PhysRange(0x20_0800, 0x20_2fff)))) {
            assertThat(world.machine.log().entries()).singleElement().satisfies(entry -> {
                assertThat(entry.site()).isEqualTo("dmar_parse_one_rmrr");
                assertThat(entry.text()).startsWith("Your BIOS is broken; bad RMRR [0x200800, 0x202fff] of nic");
            });
            assertThat(world.table.iovaToPhys(0x10_1fff)).isEqualTo(0x10_1fff);
            assertThat(world.table.iovaToPhys(0x20_0800))
                    .as("the first page that it has whole")
                    .isZero();
            assertThat(world.table.iovaToPhys(0x20_1000)).isEqualTo(0x20_1000);
            assertThat(world.table.iovaToPhys(0x20_2fff)).isEqualTo(0x20_2fff);
        }
    }
}
