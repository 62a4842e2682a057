package io.pagewalk.dma.spi;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.function.Function;
import java.util.stream.Stream;

/** Every backend variant that can be found on the class path and the module path. */
public final class DmaBackends {
    /**
     * A variant with who makes it.
     *
     * @param provider the provider
     * @param name the variant's name
     * @param summary what it is, in a line
     */
    public record Found(DmaBackendProvider provider, String name, String summary) {}

    private DmaBackends() {}

    /**
     * Lists all variants, the built-in ones first.
     *
     * @return a new list
     */
    public static List<Found> all() {
        return found(DmaBackendProvider::variants);
    }

    private static List<Found> found(Function<DmaBackendProvider, List<DmaBackendProvider.Variant>> offer) {
        List<DmaBackendProvider> providers = new ArrayList<>();
        ServiceLoader.load(DmaBackendProvider.class).forEach(providers::add);
        providers.sort(Comparator.comparingInt(DmaBackendProvider::order)
                .thenComparing(p -> p.getClass().getName()));
        List<Found> found = new ArrayList<>();
        for (DmaBackendProvider provider : providers) {
            offer.apply(provider).forEach(v -> found.add(new Found(provider, v.name(), v.summary())));
        }
        return found;
    }

    /**
     * Finds a variant, or an alias of several.
     *
     * @param name its name
     * @return the variant
     * @throws IllegalArgumentException when there is none of that name; the message lists those there are
     */
    public static Found byName(String name) {
        List<Found> all = all();
        return Stream.concat(all.stream(), found(DmaBackendProvider::aliases).stream())
                .filter(f -> f.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no backend is called \"" + name + "\"; there are "
                        + all.stream().map(Found::name).toList()));
    }
}
