package io.pagewalk.backends;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.spi.DmaBackendProvider;
import io.pagewalk.dma.spi.DmaBackends;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.module.ModuleDescriptor;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProvidersTest {
    private static final String SERVICE = DmaBackendProvider.class.getName();

    @Test
    void classPathAndModulePathOfferTheSameProviders() throws IOException {
        assertThat(servicesFile()).containsExactlyElementsOf(provides());
    }

    @Test
    void directComesBeforeSwiotlbBeforeVirt() {
        assertThat(DmaBackends.all().stream().map(DmaBackends.Found::name))
                .containsSubsequence("direct", "swiotlb", "virt");
    }

    private static List<String> servicesFile() throws IOException {
        try (InputStream in = ProvidersTest.class.getResourceAsStream("/META-INF/services/" + SERVICE);
                BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            return reader.lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty())
                    .toList();
        }
    }

    private static List<String> provides() throws IOException {
        try (InputStream in = ProvidersTest.class.getResourceAsStream("/module-info.class")) {
            return ModuleDescriptor.read(in).provides().stream()
                    .filter(p -> p.service().equals(SERVICE))
                    .flatMap(p -> p.providers().stream())
                    .toList();
        }
    }
}
