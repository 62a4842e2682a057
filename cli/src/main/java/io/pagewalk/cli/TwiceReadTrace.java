package io.pagewalk.cli;

import io.pagewalk.trace.BundledTrace;
import io.pagewalk.trace.TraceReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.jspecify.annotations.Nullable;

/**
 * A trace that is read more than once: the bundled one, a file, or what can be read only once, as standard input and
 * pipes, and is kept in a file meanwhile.
 */
final class TwiceReadTrace implements AutoCloseable {
    private final String name;
    private final @Nullable Path file;
    private final boolean temporary;

    private TwiceReadTrace(String name, @Nullable Path file, boolean temporary) {
        this.name = name;
        this.file = file;
        this.temporary = temporary;
    }

    /** A trace as the command line names it: null for the bundled one, - for standard input. */
    static TwiceReadTrace of(@Nullable String trace) throws IOException {
        if (trace == null) {
            return new TwiceReadTrace(BundledTrace.NAME, null, false);
        }
        if (trace.equals("-")) {
            return copied("standard input", System.in);
        }
        Path file = Path.of(trace);
        if (!Files.exists(file) || Files.isRegularFile(file) || Files.isDirectory(file)) {
            return new TwiceReadTrace(trace, file, false);
        }
        try (InputStream once = Files.newInputStream(file)) {
            return copied(trace, once);
        }
    }

    private static TwiceReadTrace copied(String name, InputStream once) throws IOException {
        Path file = Files.createTempFile("pagewalk", ".trace");
        try {
            Files.copy(once, file, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException failed) {
            Files.delete(file);
            throw new IOException(name + ": " + failed.getMessage(), failed);
        }
        return new TwiceReadTrace(name, file, true);
    }

    String name() {
        return name;
    }

    TraceReader open(TraceReader.Options options) throws IOException {
        if (file == null) {
            return BundledTrace.open();
        }
        return temporary
                ? TraceReader.open(Files.newInputStream(file), name, options)
                : TraceReader.open(file, options);
    }

    @Override
    public void close() throws IOException {
        if (temporary && file != null) {
            Files.deleteIfExists(file);
        }
    }
}
