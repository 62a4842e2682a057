package io.pagewalk.conformance;

import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/** The lines of a vector file. */
final class VectorText implements AutoCloseable {
    private final String name;
    private final BufferedReader reader;
    private int lineNumber;

    VectorText(String name, InputStream stream) {
        this.name = name;
        this.reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
    }

    /** The next line that is not empty, or null at the end. */
    @Nullable String next() throws UnusableVectorsException {
        String line = read();
        while (line != null && line.isBlank()) {
            line = read();
        }
        if (line != null && line.indexOf('\0') >= 0) {
            throw new UnusableVectorsException(name, "is binary: NUL byte in line " + lineNumber);
        }
        return line;
    }

    private @Nullable String read() throws UnusableVectorsException {
        try {
            String line = reader.readLine();
            lineNumber += line == null ? 0 : 1;
            return line;
        } catch (EOFException cut) {
            throw new UnusableVectorsException(name, "gzip stream ends early after line " + lineNumber, cut);
        } catch (ZipException damaged) {
            throw new UnusableVectorsException(
                    name, "gzip stream is damaged after line " + lineNumber + ": " + damaged.getMessage(), damaged);
        } catch (IOException failed) {
            throw new UnusableVectorsException(
                    name, "cannot be read on after line " + lineNumber + ": " + failed.getMessage(), failed);
        }
    }

    /** The number of the line that was read last, from 1. */
    int lineNumber() {
        return lineNumber;
    }

    @Override
    public void close() throws UnusableVectorsException {
        try {
            reader.close();
        } catch (IOException failed) {
            throw new UnusableVectorsException(name, "cannot be closed: " + failed.getMessage(), failed);
        }
    }
}
