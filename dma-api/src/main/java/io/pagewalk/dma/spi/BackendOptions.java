package io.pagewalk.dma.spi;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a backend by name. What a kernel takes from its command line is read from the machine's command line
 * instead; options say what only an emulator decides, such as where a pool lies.
 *
 * <p>Immutable.
 */
public final class BackendOptions {
    /** No settings: every default. */
    public static final BackendOptions NONE = new BackendOptions(Map.of());

    private final Map<String, Long> numbers;

    private BackendOptions(Map<String, Long> numbers) {
        this.numbers = numbers;
    }

    /**
     * Adds or replaces a setting.
     *
     * @param name its name
     * @param value its value
     * @return new options
     */
    public BackendOptions with(String name, long value) {
        Map<String, Long> copy = new TreeMap<>(numbers);
        copy.put(name, value);
        return new BackendOptions(Map.copyOf(copy));
    }

    /**
     * A setting.
     *
     * @param name its name
     * @param otherwise the default
     * @return the value, or the default
     */
    public long number(String name, long otherwise) {
        @Nullable Long value = numbers.get(name);
        return value == null ? otherwise : value;
    }

    @Override
    public String toString() {
        return numbers.toString();
    }
}
