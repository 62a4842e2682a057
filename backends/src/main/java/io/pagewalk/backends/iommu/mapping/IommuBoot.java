package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.backends.iommu.api.IommuDomainType;
import io.pagewalk.dma.KernelConfig;
import io.pagewalk.dma.Machine;
import java.util.List;

/**
 * What a machine's configuration and command line say of its IOMMU. Implements iommu:CORE-2, CORE-3, DINIT-12.
 *
 * @param off whether there is to be none
 * @param defaultType the default domain of trusted devices: DMA, DMA_FQ or IDENTITY
 * @param forceDac whether PCI devices do without trying 32-bit addresses first
 */
public record IommuBoot(boolean off, IommuDomainType defaultType, boolean forceDac) {
    /* The kernel calls a handler for each parameter as it comes. `iommu.passthrough`, `iommu=` and `iommu.strict` come early,
     * in the order in which they stand; `intel_iommu=` comes after all of them, so that its `strict` cannot be taken back.
     */

    /**
     * Reads a machine's.
     *
     * @param machine the machine
     * @return what it says
     */
    public static IommuBoot of(Machine machine) {
        KernelCommandLine commandLine = KernelCommandLine.parse(machine.commandLine());
        Early early = new Early(machine.kernelConfig());
        commandLine.forEach(early::handle);
        List<String> intel = commandLine.options("intel_iommu");
        return new IommuBoot(
                isOff(early.off, intel), early.type(intel.contains("strict")), forceDac(commandLine, intel));
    }

    /**
     * Takes a domain type that was chosen otherwise, and the rest from the command line.
     *
     * @param machine the machine
     * @param type the type of default domains
     * @return that type, never off
     */
    public static IommuBoot fixed(Machine machine, IommuDomainType type) {
        return new IommuBoot(false, type, of(machine).forceDac());
    }

    /** The last of on and off counts. */
    private static boolean isOff(boolean off, List<String> intel) {
        return off || intel.lastIndexOf("off") > intel.lastIndexOf("on");
    }

    private static boolean forceDac(KernelCommandLine commandLine, List<String> intel) {
        boolean forced = false;
        for (String value : commandLine.values("iommu.forcedac")) {
            forced = KernelCommandLine.bool(value, forced);
        }
        return forced || intel.contains("forcedac");
    }

    /** The parameters that are read early. */
    private static final class Early {
        private boolean passthrough;
        private boolean strict;
        private boolean off;

        Early(KernelConfig config) {
            KernelConfig.IommuDefault kind = config.iommuDefault();
            strict = kind == KernelConfig.IommuDefault.STRICT;
            passthrough = kind == KernelConfig.IommuDefault.PASSTHROUGH
                    && config.arch().encryptionMask() == 0;
        }

        void handle(String name, String value) {
            switch (name) {
                case "iommu.passthrough" -> passthrough = KernelCommandLine.bool(value, passthrough);
                case "iommu.strict" -> strict = KernelCommandLine.bool(value, strict);
                case "iommu" -> List.of(value.split(",")).forEach(this::handleOption);
                default -> {
                    // Somebody else's.
                }
            }
        }

        private void handleOption(String option) {
            switch (option) {
                case "pt" -> passthrough = true;
                case "nopt" -> passthrough = false;
                case "off" -> off = true;
                default -> {
                    // Of no interest here.
                }
            }
        }

        IommuDomainType type(boolean strictForced) {
            if (passthrough) {
                return IommuDomainType.IDENTITY;
            }
            return strict || strictForced ? IommuDomainType.DMA : IommuDomainType.DMA_FQ;
        }
    }
}
