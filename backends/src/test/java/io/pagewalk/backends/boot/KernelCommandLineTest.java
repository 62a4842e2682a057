package io.pagewalk.backends.boot;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class KernelCommandLineTest {

    @Test
    void repeatedParametersKeepTheirOrder() {
        KernelCommandLine line = KernelCommandLine.parse("swiotlb=65536 quiet  swiotlb=force\tiommu.strict=0");
        assertThat(line.values("swiotlb")).containsExactly("65536", "force");
        assertThat(line.value("swiotlb")).isEqualTo("force");
        assertThat(line.value("iommu.strict")).isEqualTo("0");
    }

    @Test
    void parameterWithoutValueIsEmptyAndAMissingOneIsNull() {
        KernelCommandLine line = KernelCommandLine.parse("quiet debug=");
        assertThat(line.value("quiet")).isEmpty();
        assertThat(line.value("debug")).isEmpty();
        assertThat(line.value("swiotlb")).isNull();
        assertThat(line.values("swiotlb")).isEmpty();
    }

    @Test
    void dashAndUnderscoreAreTheSameInNamesOnly() {
        KernelCommandLine line = KernelCommandLine.parse("intel-iommu=sm-on");
        assertThat(line.value("intel_iommu")).isEqualTo("sm-on");
    }

    @Test
    void quotesKeepBlanksTogether() {
        assertThat(KernelCommandLine.parse("a=\"b c\" d").value("a")).isEqualTo("b c");
    }

    @Test
    void initsPartIsLeftOut() {
        assertThat(KernelCommandLine.parse("a=1 -- a=2").values("a")).containsExactly("1");
    }

    @Test
    void emptyLineHasNoParameters() {
        assertThat(KernelCommandLine.parse(" ").toString()).isEqualTo("[]");
    }
}
