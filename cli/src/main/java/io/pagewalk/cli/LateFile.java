package io.pagewalk.cli;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A file of an option that is opened when something is written to it or flushed, so that input which turns out to be
 * unusable costs nobody an older file. What goes wrong names option and file.
 */
final class LateFile extends Writer {
    private final String option;
    private final Path file;
    private @Nullable Writer opened;

    LateFile(String option, Path file) {
        this.option = option;
        this.file = file;
    }

    @Override
    public void write(char[] chars, int offset, int count) throws IOException {
        named(() -> open().write(chars, offset, count));
    }

    @Override
    public void flush() throws IOException {
        named(() -> open().flush());
    }

    @Override
    public void close() throws IOException {
        Writer closing = opened;
        if (closing != null) {
            opened = null;
            named(closing::close);
        }
    }

    private Writer open() throws IOException {
        Writer writer = opened;
        if (writer == null) {
            writer = Files.newBufferedWriter(file, StandardCharsets.UTF_8);
            opened = writer;
        }
        return writer;
    }

    private interface Action {
        void run() throws IOException;
    }

    private void named(Action action) throws IOException {
        try {
            action.run();
        } catch (IOException failed) {
            throw new IOException(option + ": " + file + " cannot be written: " + failed.getMessage(), failed);
        }
    }
}
