package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.boot.KernelCommandLine;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Whether a command line keeps PCI devices from trying 32-bit addresses first (iommu:DINIT-12). */
final class ForceDac {
    private static final String TRUE_LETTERS = "yYtT1";

    private ForceDac() {}

    static boolean of(KernelCommandLine commandLine) {
        List<String> intel = commandLine.values("intel_iommu");
        return isTrue(commandLine.value("iommu.forcedac"))
                || intel.stream().flatMap(v -> Arrays.stream(v.split(","))).anyMatch("forcedac"::equals);
    }

    /** As the kernel reads a bool: by the first letter, or two for {@code on}. */
    private static boolean isTrue(@Nullable String value) {
        if (value == null || value.isEmpty()) {
            return false;
        }
        return TRUE_LETTERS.indexOf(value.charAt(0)) >= 0 || value.regionMatches(true, 0, "on", 0, 2);
    }
}
