package io.pagewalk.dma.spi;

import io.pagewalk.dma.Machine;
import java.util.List;

/**
 * Makes backends. Found through {@link java.util.ServiceLoader}: list the class in {@code META-INF/services} and, in a
 * named module, in {@code provides} as well.
 */
public interface DmaBackendProvider {
    /**
     * One kind of backend that a provider makes.
     *
     * @param name unique among all providers, such as {@code iommu-strict}
     * @param summary what it is, in a line
     */
    record Variant(String name, String summary) {}

    /**
     * What this provider makes.
     *
     * @return its variants, in the order in which to show them
     */
    List<Variant> variants();

    /**
     * Further names that can be asked for but are not shown beside the variants: backends that become one of several by
     * what the machine says, such as its command line.
     *
     * @return names, none by default
     */
    default List<Variant> aliases() {
        return List.of();
    }

    /**
     * Where the variants stand among those of other providers when all are shown side by side.
     *
     * @return smaller numbers come first; the built-in backends use 0 to 99
     */
    default int order() {
        return 1000;
    }

    /**
     * Makes a backend for a machine.
     *
     * @param variant one of the names in {@link #variants()} and {@link #aliases()}
     * @param machine the machine, complete but for its devices
     * @param options settings
     * @return the backend
     */
    DmaBackend create(String variant, Machine machine, BackendOptions options);
}
