package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.DmaFailure;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.DmaOps;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Which device addresses a device gets. */
class DeviceIovasTest {
    private static final long RAM = 0x1234_5000L & 0x3ff_ffffL;

    @Test
    @DisplayName("iommu:DIOVA-7: from the top of 32 bits until they fail once, then from the top of the mask for good")
    void thirtyTwoBitsAreTriedUntilTheyFailOnce() {
        try (World world = World.strict()) {
            assertThat(world.map(RAM + 0x678, 0x100)).isEqualTo(0xfffff678L);
            assertThat(world.map(RAM + 0xfff, 2)).isEqualTo(0xffffcfffL);
            assertThat(world.machine.log().count("iommu_dma_alloc_iova")).isZero();
            assertThat(world.map(0, 1L << 32)).isEqualTo(0xffff00000000L);
            assertThat(world.machine.log().entries().get(0).text()).isEqualTo("nic: Using 48-bit DMA addresses");
            assertThat(world.map(RAM, 0x1000)).isEqualTo(0xfffefffff000L);
            world.device.setMask((1L << 36) - 1);
            assertThat(world.map(RAM, 0x1000)).isEqualTo(0xffffff000L);
            world.device.setMask((1L << 32) - 1);
            assertThat(world.map(RAM, 0x1000)).isEqualTo(0xffffb000L);
            assertThat(world.machine.log().count("iommu_dma_alloc_iova")).isEqualTo(1);
        }
    }

    @Test
    @DisplayName("iommu:DIOVA-2, DIOVA-7: the bus limit bounds the address")
    void busLimitBoundsTheAddress() {
        try (World world = World.strict(config -> config.withBusLimit(0x3fffffff))) {
            assertThat(world.map(RAM, 0x1000)).isEqualTo(0x3ffff000);
        }
    }

    @Test
    @DisplayName("iommu:DIOVA-6: a device that is not PCI allocates from the top of its mask")
    void deviceThatIsNotPciStartsAtTheTop() {
        try (World world = World.strict(config -> config.withPci(false))) {
            assertThat(world.map(RAM, 0x1000)).isEqualTo(0xfffffffff000L);
            assertThat(world.machine.log().count("iommu_dma_alloc_iova")).isZero();
        }
    }

    @Test
    @DisplayName("iommu:DINIT-12: forcedac spares PCI devices the 32-bit try")
    void forcedacStartsAtTheTop() {
        for (String line : List.of("iommu.forcedac=1", "quiet iommu.forcedac=on", "intel_iommu=on,forcedac")) {
            assertThat(firstAddress(line)).as(line).isEqualTo(0xfffffffff000L);
        }
        for (String line : List.of("iommu.forcedac=0", "intel_iommu=on", "iommu=usedac", "iommu.forcedac")) {
            assertThat(firstAddress(line)).as(line).isEqualTo(0xfffff000L);
        }
    }

    private static long firstAddress(String commandLine) {
        Machine machine = World.builder().commandLine(commandLine).build();
        try (World world = World.of(machine, new RecordingDriver(RecordingDriver.APERTURE_48), false, c -> c)) {
            return world.map(RAM, 0x1000);
        }
    }

    @Test
    @DisplayName("iommu:DIOVA-2: the aperture bounds what a mask allows")
    void apertureBoundsTheAddress() {
        RecordingDriver driver = new RecordingDriver(RecordingDriver.APERTURE_39);
        try (World world = World.of(World.builder().build(), driver, false, c -> c.withPci(false))) {
            assertThat(world.map(RAM, 0x1000)).isEqualTo(0x7ffffff000L);
        }
    }

    @Test
    void failureNamesPagesAndLimit() {
        try (World world = World.strict(config -> config.withStreamingMask(0xfffL))) {
            assertThat(world.map(RAM, 0x1000)).isEqualTo(Dma.DMA_MAPPING_ERROR);
            DmaFailure failure = world.failure();
            assertThat(failure.reason()).isEqualTo(FailureReason.NO_IOVA);
            assertThat(failure.errno()).isEqualTo(Errno.ENOMEM);
            assertThat(failure.numbers()).containsExactly(1L, 0xfffL);
            world.assertNothingIsHeld();
        }
    }

    @Test
    @DisplayName("iommu:IOVA-14: one request that can never fit costs the device its 32-bit addresses")
    void requestThatCanNeverFitCostsTheDeviceIts32BitAddresses() {
        try (World world = World.strict(config -> config.withCoherentMask(0xfff))) {
            assertThat(world.ops.allocCoherent(world.device, 0, 0x1000, Gfp.KERNEL, 0))
                    .isNull();
            assertThat(world.failure().numbers()).containsExactly(1L, 0xfffL);
            assertThat(world.map(RAM, 0x1000)).isEqualTo(0xfffffffff000L);
        }
    }

    @Test
    @DisplayName("iommu:DMAP-13: a mapping of nothing is refused before the allocator")
    void mappingOfNothingIsRefused() {
        try (World world = World.strict()) {
            DmaOps ops = world.ops;
            assertThat(ops.mapPage(world.device, 0, RAM, 0, DmaDirection.TO_DEVICE, 0))
                    .isEqualTo(Dma.DMA_MAPPING_ERROR);
            assertThat(world.map(RAM, 0x1000)).isEqualTo(0xfffff000L);
        }
    }

    @Test
    @DisplayName("iommu:DIOVA-3, QK-12: the try below 4 GiB does not fetch what other CPUs cached before it gives up")
    void tryBelow4GibDoesNotFlush() {
        try (World world = World.strict(config -> config.withStreamingMask(0xffff_ffffL))) {
            long page = world.map(RAM, 0x1000);
            for (long size = 1L << 31; size >= 0x1000; size >>= 1) {
                while (world.map(0, size) != Dma.DMA_MAPPING_ERROR) {
                    assertThat(world.machine.log().count("iommu_dma_alloc_iova"))
                            .isZero();
                }
            }
            world.unmap(1, page, 0x1000);
            world.device.setMask(-1L);
            assertThat(world.map(0, RAM, 0x1000)).isEqualTo(0xffff_ffff_f000L);
            assertThat(world.machine.log().count("iommu_dma_alloc_iova")).isEqualTo(1);
            world.device.setMask(0xffff_ffffL);
            assertThat(world.map(0, RAM, 0x1000)).as("with the flush").isEqualTo(page);
        }
    }
}
