package io.pagewalk.cli;

import io.pagewalk.trace.BundledTrace;
import io.pagewalk.trace.TraceReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.jspecify.annotations.Nullable;

/**
 * A trace that is read more than once: the bundled one, a file, or standard input, which is kept in a file meanwhile.
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
        if (!trace.equals("-")) {
            return new TwiceReadTrace(trace, Path.of(trace), false);
        }
        Path copy = Files.createTempFile("pagewalk", ".trace");
        Files.copy(System.in, copy, StandardCopyOption.REPLACE_EXISTING);
        return new TwiceReadTrace("standard input", copy, true);
    }

    String name() {
        return name;
    }

    TraceReader open(TraceReader.Options options) throws IOException {
        return file == null ? BundledTrace.open() : TraceReader.open(file, options);
    }

    @Override
    public void close() throws IOException {
        if (temporary && file != null) {
            Files.deleteIfExists(file);
        }
    }
}
