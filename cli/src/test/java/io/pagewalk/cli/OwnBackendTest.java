package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A backend of a user's own needs nothing but to be on the class path, with its service file. */
class OwnBackendTest {
    private static final String SOURCE = """
            import io.pagewalk.backends.direct.DirectProvider;
            import io.pagewalk.dma.Machine;
            import io.pagewalk.dma.spi.BackendOptions;
            import io.pagewalk.dma.spi.DmaBackend;
            import io.pagewalk.dma.spi.DmaBackendProvider;
            import java.util.List;

            public class Mine implements DmaBackendProvider {
                public List<Variant> variants() {
                    return List.of(new Variant("mine", "direct under another name"));
                }

                public DmaBackend create(String variant, Machine machine, BackendOptions options) {
                    return new DirectProvider().create("direct", machine, options);
                }
            }
            """;

    @TempDir
    Path folder;

    @Test
    void itJoinsTheTableAfterTheBuiltInOnes() throws Exception {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.writeString(services.resolve("io.pagewalk.dma.spi.DmaBackendProvider"), "Mine\n");
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        Ran ran;
        try (URLClassLoader loader = Compiled.load(folder, "Mine", SOURCE)) {
            thread.setContextClassLoader(loader);
            ran = Ran.pagewalk("compare", "--quick");
        } finally {
            thread.setContextClassLoader(before);
        }
        assertThat(ran.status()).isZero();
        assertThat(ran.out()).containsPattern("direct +swiotlb +iommu-strict +iommu-lazy +virt +mine");
        assertThat(ran.row("verified")).hasSize(6);
        assertThat(ran.row("verified").get(5))
                .isEqualTo(ran.row("verified").get(0))
                .isNotEqualTo("0");
    }
}
