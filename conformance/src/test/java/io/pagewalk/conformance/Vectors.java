package io.pagewalk.conformance;

import io.pagewalk.conformance.adapter.PendingEntry;
import io.pagewalk.conformance.adapter.PendingList;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** Files of vectors for tests. */
final class Vectors {
    private Vectors() {}

    /** The lines of a file that comes with the project. */
    static List<String> shipped(String name) {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(
                new GZIPInputStream(Vectors.class.getResourceAsStream("vectors/" + name + ".jsonl.gz")),
                StandardCharsets.UTF_8))) {
            return reader.lines().toList();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    static Path write(Path folder, String name, List<String> lines) {
        try {
            return Files.write(folder.resolve(name), lines);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    static byte[] gzip(String text) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
            gzip.write(text.getBytes(StandardCharsets.UTF_8));
        }
        return bytes.toByteArray();
    }

    static ConformanceResult run(Path file) throws UnusableVectorsException {
        return run(file, PendingList.read());
    }

    static ConformanceResult run(Path file, List<PendingEntry> pending) throws UnusableVectorsException {
        return ConformanceRun.of(VectorFiles.at(List.of(file)), Integer.MAX_VALUE, ConformanceProgress.NONE, pending);
    }
}
