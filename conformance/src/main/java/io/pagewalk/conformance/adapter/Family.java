package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One family of vectors: the formats of its lines, and who answers. Immutable once built. */
public final class Family {
    /** The kind of the line that opens a boot. */
    public static final String BOOT = "boot";

    private final String name;
    private final Map<String, LineFormat> formats;
    private final AdapterFactory factory;

    private Family(Builder builder) {
        name = builder.name;
        formats = new LinkedHashMap<>(builder.formats);
        factory = builder.factory;
    }

    /**
     * Starts a family.
     *
     * @param name what its lines call it
     * @return no formats yet
     */
    static Builder named(String name) {
        return new Builder(name);
    }

    /**
     * Its name.
     *
     * @return what its lines call it
     */
    public String name() {
        return name;
    }

    /**
     * The format of a kind of line.
     *
     * @param kind {@code boot}, an {@code op} or an {@code fn}
     * @return its fields, or null when the family has no such lines
     */
    public @Nullable LineFormat format(String kind) {
        return formats.get(kind);
    }

    /**
     * Whether lines stand in boots.
     *
     * @return false when they need no line before them
     */
    public boolean hasBoots() {
        return formats.containsKey(BOOT);
    }

    /**
     * Boots what a boot line describes.
     *
     * @param boot what the line says
     * @return who answers the lines that follow
     */
    public Adapter boot(Question boot) {
        return factory.boot(boot);
    }

    /** Boots the machine of a boot line. */
    @FunctionalInterface
    interface AdapterFactory {
        /**
         * Boots.
         *
         * @param boot the line
         * @return who answers the lines that follow
         */
        Adapter boot(Question boot);
    }

    /** Describes a family. Not thread-safe. */
    static final class Builder {
        private final String name;
        private final Map<String, LineFormat> formats = new LinkedHashMap<>();
        private AdapterFactory factory = Builder::nobody;

        private Builder(String name) {
            this.name = name;
        }

        private static Adapter nobody(Question boot) {
            throw new IllegalStateException("nobody answers this family");
        }

        /** Lines of a kind. */
        Builder answered(String kind, LineFormat format) {
            formats.put(kind, format);
            return this;
        }

        Family by(AdapterFactory adapters) {
            factory = adapters;
            return build();
        }

        Family build() {
            return new Family(this);
        }
    }
}
