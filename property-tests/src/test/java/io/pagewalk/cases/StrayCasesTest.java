package io.pagewalk.cases;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Access;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaMapping;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.events.StrayAccess;
import io.pagewalk.dma.events.StrayAccesses;
import java.util.Objects;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Situations in which a device leaves the bytes of its mapping and no hardware objects: E1, F4 and I14. */
class StrayCasesTest {
    private static final long PAGE_END = 0x120_1000L;

    private static Machine exact(String backend) {
        return Machine.builder()
                .ramBytes(64 << 20)
                .backend(backend)
                .commandLine("swiotlb=1024")
                .byteExact()
                .build();
    }

    private static StrayAccesses strays(Machine machine) {
        return Objects.requireNonNull(machine.strayAccesses());
    }

    @Test
    @DisplayName(
            "E1: dma-direct lets a read of 72 bytes of a 54-byte mapping pass, and byte-exact checking tells of 18")
    void aReadPastAShortMappingPassesOnDirectAndIsTold() {
        try (Machine machine = exact("direct")) {
            Device nic = machine.addDevice(DeviceConfig.named("nic"));
            try (DmaMapping frame =
                    nic.dma().map(PAGE_END - 54, 54, DmaDirection.TO_DEVICE).ownedBy("tx frame")) {
                assertThat(nic.bus().read(frame.dmaAddr(), new byte[72], 0, 72)).isEqualTo(72);

                StrayAccess stray = strays(machine).recent().get(0);
                assertThat(stray.access()).isEqualTo(Access.READ);
                assertThat(stray.insideBytes()).isEqualTo(54);
                assertThat(stray.strayBytes()).isEqualTo(18);
                assertThat(stray.firstStrayAddr()).isEqualTo(PAGE_END);
                assertThat(stray.surroundings())
                        .isEqualTo("; 0 bytes past the end of page mapping 0x1200fca+0x36 TO_DEVICE of tx frame");
            }
            assertThat(machine.faults().count()).isZero();
        }
    }

    @Test
    @DisplayName("E1: behind an IOMMU the read faults where the page ends, which is where this mapping ends too")
    void aReadPastTheEndOfThePageFaultsBehindAnIommu() {
        try (Machine machine = exact("iommu-strict")) {
            Device nic = machine.addDevice(DeviceConfig.named("nic"));
            try (DmaMapping frame = nic.dma().map(PAGE_END - 54, 54, DmaDirection.TO_DEVICE)) {
                assertThat(nic.bus().read(frame.dmaAddr(), new byte[72], 0, 72)).isEqualTo(54);
            }
            assertThat(machine.faults().count()).isEqualTo(1);
            assertThat(strays(machine).count()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"direct", "swiotlb", "iommu-strict", "iommu-lazy", "virt"})
    @DisplayName("I14: 512 bytes asked, 4096 written: the page is mapped, so no IOMMU helps, and the write is told")
    void aDeviceThatWritesMoreThanAskedIsTold(String backend) {
        try (Machine machine = exact(backend)) {
            Device disk = machine.addDevice(DeviceConfig.named("disk"));
            try (DmaMapping sector = disk.dma().map(PAGE_END, 512, DmaDirection.FROM_DEVICE)) {
                assertThat(disk.bus().write(sector.dmaAddr(), new byte[4096], 0, 4096))
                        .isEqualTo(4096);

                assertThat(strays(machine).count()).isEqualTo(1);
                StrayAccess stray = strays(machine).recent().get(0);
                assertThat(stray.firstStrayAddr()).isEqualTo(sector.dmaAddr() + 512);
                assertThat(stray.strayBytes()).isEqualTo(3584);
            }
        }
    }

    @Test
    @DisplayName("F4: a driver that falls back to the physical address when a map fails: the access is in no mapping")
    void aFallBackToThePhysicalAddressIsAStrayAccess() {
        try (Machine machine = exact("direct")) {
            Device nic = machine.addDevice(DeviceConfig.named("nic"));
            nic.bus().write(0x120_0000L, new byte[64], 0, 64);

            assertThat(strays(machine).recent())
                    .extracting(StrayAccess::toString)
                    .containsExactly("DMA write by nic at 0x1200000+0x40 strays from 0x1200000 on, 64 bytes; nic has "
                            + "no live mapping");
        }
    }
}
