package io.pagewalk.backends;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.DeviceConfig;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A failure that the machine was told to have says so; the backend's own causes stay for real ones. */
class InjectedCauseTest {
    private static final long BUFFER = 0x120_0000L;

    private static Machine machine(String backend) {
        return Machine.builder()
                .ramBytes(64 << 20)
                .backend(backend)
                .commandLine("swiotlb=512")
                .build();
    }

    private static void fails(Machine machine, String point, Consumer<Dma> call) {
        Device device = machine.addDevice(DeviceConfig.named("nic"));
        machine.failures().failNth(point, 1);
        call.accept(device.dma());
        assertThat(machine.failures().failedAt()).isEqualTo(point);
        assertThat(device.dma().lastFailure().reason()).isEqualTo(FailureReason.INJECTED);
        assertThat(device.dma().lastFailure().errno()).isEqualTo(12);
    }

    @ParameterizedTest
    @CsvSource({
        "swiotlb, swiotlb.slots",
        "iommu-strict, iommu.iova",
        "iommu-lazy, iommu.iova",
        "iommu-strict, iommu.table-page"
    })
    void aMap(String backend, String point) {
        try (Machine machine = machine(backend)) {
            fails(
                    machine,
                    point,
                    dma -> assertThat(dma.mapPage(BUFFER, 4096, DmaDirection.TO_DEVICE, DmaAttrs.NONE))
                            .isEqualTo(Dma.DMA_MAPPING_ERROR));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "direct, direct.pages",
        "virt, virt.pages",
        "iommu-strict, iommu.pages",
        "iommu-strict, iommu.iova",
        "iommu-strict, iommu.table-page"
    })
    void anAllocation(String backend, String point) {
        try (Machine machine = machine(backend)) {
            fails(
                    machine,
                    point,
                    dma -> assertThat(dma.allocCoherent(4096, DmaAttrs.NONE)).isNull());
        }
    }

    @ParameterizedTest
    @CsvSource("direct, direct.decrypt")
    void anAllocationOfEncryptedMemory(String backend, String point) {
        ArchConfig arch = ArchConfig.x86().withForcedDecryption(true);
        try (Machine machine = Machine.builder()
                .ramBytes(64 << 20)
                .backend(backend)
                .kernelConfig(KernelConfig.distribution().withArch(arch))
                .build()) {
            fails(
                    machine,
                    point,
                    dma -> assertThat(dma.allocCoherent(4096, DmaAttrs.NONE)).isNull());
        }
    }
}
