package io.pagewalk.backends.iommu.mapping;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.KernelConfig.IommuDefault;
import io.pagewalk.dma.Machine;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a kernel makes of its configuration and command line. */
class IommuBootTest {
    private static IommuBoot boot(String commandLine, KernelConfig config) {
        try (Machine machine = Machine.builder()
                .ramBytes(16 << 20)
                .commandLine(commandLine)
                .kernelConfig(config)
                .build()) {
            return IommuBoot.of(machine);
        }
    }

    private static IommuBoot boot(String commandLine) {
        return boot(commandLine, KernelConfig.distribution());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "quiet | DMA_FQ",
                "intel_iommu=on | DMA_FQ",
                "iommu.strict=1 | DMA",
                "iommu.strict=y | DMA",
                "iommu.strict=on | DMA",
                "iommu.strict=0 | DMA_FQ",
                "iommu.strict=off | DMA_FQ",
                "iommu.strict=1 iommu.strict=0 | DMA_FQ",
                "iommu.strict=1 iommu.strict=maybe | DMA",
                "iommu.strict=1 iommu.strict | DMA",
                "intel_iommu=on,strict | DMA",
                "intel_iommu=strict iommu.strict=0 | DMA",
                "iommu=pt | IDENTITY",
                "iommu=noforce,pt | IDENTITY",
                "iommu=pt iommu=nopt | DMA_FQ",
                "iommu=nopt iommu=pt | IDENTITY",
                "iommu.passthrough=1 | IDENTITY",
                "iommu.passthrough=1 iommu.passthrough=0 | DMA_FQ",
                "iommu=pt iommu.passthrough=0 | DMA_FQ",
                "iommu.passthrough=0 iommu=pt | IDENTITY",
                "iommu=pt iommu.passthrough=0 iommu.strict=1 | DMA",
                "iommu=pt iommu.strict=1 | IDENTITY",
                "iommu=pt intel_iommu=strict | IDENTITY",
                "quiet -- iommu=pt | DMA_FQ",
            })
    @DisplayName("iommu:CORE-2, CORE-3: the last word of each parameter counts, except that intel_iommu=strict stays")
    void commandLineChoosesTheDefaultDomain(String commandLine, IommuDomainType type) {
        assertThat(boot(commandLine).defaultType()).isEqualTo(type);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "STRICT | quiet | DMA",
                "STRICT | iommu.strict=0 | DMA_FQ",
                "LAZY | quiet | DMA_FQ",
                "PASSTHROUGH | quiet | IDENTITY",
                "PASSTHROUGH | iommu.passthrough=0 | DMA_FQ",
                "PASSTHROUGH | iommu=nopt iommu.strict=1 | DMA",
            })
    @DisplayName("iommu:CORE-2: the kernel's configuration chooses unless the command line does")
    void configurationComesFirst(IommuDefault kind, String commandLine, IommuDomainType type) {
        assertThat(boot(commandLine, KernelConfig.distribution().withIommuDefault(kind))
                        .defaultType())
                .isEqualTo(type);
    }

    @Test
    @DisplayName("iommu:CORE-2: memory encryption cancels a passthrough of the configuration, not of the command line")
    void memoryEncryptionCancelsConfiguredPassthrough() {
        KernelConfig encrypted = KernelConfig.distribution()
                .withIommuDefault(IommuDefault.PASSTHROUGH)
                .withArch(ArchConfig.x86().withEncryptionMask(1L << 47));
        assertThat(boot("", encrypted).defaultType()).isEqualTo(IommuDomainType.DMA_FQ);
        assertThat(boot("iommu=pt", encrypted).defaultType()).isEqualTo(IommuDomainType.IDENTITY);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "quiet | false",
                "iommu.forcedac=1 | true",
                "iommu.forcedac=t | true",
                "iommu.forcedac=0 | false",
                "iommu.forcedac=n | false",
                "iommu.forcedac=1 iommu.forcedac=f | false",
                "iommu.forcedac | false",
                "intel_iommu=on,forcedac | true",
                "intel_iommu=forcedac iommu.forcedac=0 | true",
                "iommu=usedac | false",
            })
    @DisplayName("iommu:DINIT-12: forcedac by either name; x86's usedac is another thing")
    void forceDacByEitherName(String commandLine, boolean forced) {
        assertThat(boot(commandLine).forceDac()).isEqualTo(forced);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "quiet | false",
                "intel_iommu=off | true",
                "intel_iommu=on | false",
                "intel_iommu=off intel_iommu=on | false",
                "intel_iommu=on,off | true",
                "intel_iommu=sm_off | false",
                "iommu=off | true",
                "iommu=force,off intel_iommu=on | true",
            })
    void iommuMayBeOff(String commandLine, boolean off) {
        assertThat(boot(commandLine).off()).isEqualTo(off);
    }

    @Test
    @DisplayName("a fixed variant takes its domain type from its name, and forcedac from the command line")
    void fixedVariantKeepsItsType() {
        try (Machine machine = Machine.builder()
                .ramBytes(16 << 20)
                .commandLine("iommu=pt intel_iommu=off,strict iommu.forcedac=1")
                .build()) {
            assertThat(IommuBoot.fixed(machine, IommuDomainType.DMA_FQ))
                    .isEqualTo(new IommuBoot(false, IommuDomainType.DMA_FQ, true));
        }
    }
}
