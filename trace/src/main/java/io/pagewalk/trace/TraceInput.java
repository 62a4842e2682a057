package io.pagewalk.trace;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** An input before it is text: opens it, looks at its first bytes, unpacks gzip, counts what was read. */
final class TraceInput {
    private static final int BLOCK_BYTES = 1 << 16;
    private static final int MAGIC_BYTES = 10;

    private TraceInput() {}

    static InputStream openFile(Path path) throws UnreadableTraceException {
        String name = path.toString();
        if (Files.isDirectory(path)) {
            throw new UnreadableTraceException(name, "is a directory");
        }
        try {
            return isPipeOrDevice(path) ? new FileInputStream(path.toFile()) : Files.newInputStream(path);
        } catch (NoSuchFileException missing) {
            throw new UnreadableTraceException(name, "no such file", missing);
        } catch (AccessDeniedException denied) {
            throw new UnreadableTraceException(name, "permission denied", denied);
        } catch (IOException failed) {
            throw new UnreadableTraceException(name, "cannot be opened: " + failed.getMessage(), failed);
        }
    }

    /**
     * A pipe (trace_pipe, /dev/stdin) cannot seek, which the stream of {@link Files} tries when asked what is
     * available.
     */
    private static boolean isPipeOrDevice(Path path) {
        return Files.exists(path) && !Files.isRegularFile(path);
    }

    /** Returns the size of a regular file, -1 for pipes, devices and files that do not tell. */
    static long sizeOf(Path path) {
        try {
            return Files.isRegularFile(path) ? Files.size(path) : -1L;
        } catch (IOException unknown) {
            return -1L;
        }
    }

    /**
     * Returns the text of the input: unpacked when it starts like gzip, refused when it starts like another container.
     */
    static InputStream text(Counted input, String name) throws UnreadableTraceException {
        BufferedInputStream buffered = new BufferedInputStream(input, BLOCK_BYTES);
        try {
            String magic = magic(buffered);
            refuseContainers(magic, name);
            return magic.startsWith("\u001f\u008b") ? new GZIPInputStream(buffered, BLOCK_BYTES) : buffered;
        } catch (UnreadableTraceException refused) {
            throw refused;
        } catch (EOFException cut) {
            throw new UnreadableTraceException(name, "gzip stream ends early after line 0", cut);
        } catch (ZipException damaged) {
            throw new UnreadableTraceException(name, "gzip stream is damaged: " + damaged.getMessage(), damaged);
        } catch (IOException failed) {
            throw new UnreadableTraceException(name, "cannot be read: " + failed.getMessage(), failed);
        }
    }

    private static String magic(BufferedInputStream buffered) throws IOException {
        buffered.mark(MAGIC_BYTES);
        byte[] first = buffered.readNBytes(MAGIC_BYTES);
        buffered.reset();
        return new String(first, StandardCharsets.ISO_8859_1);
    }

    private static void refuseContainers(String magic, String name) throws UnreadableTraceException {
        if (magic.startsWith("PERFILE2")) {
            throw new UnreadableTraceException(name, "is a perf.data file: give the output of 'perf script' instead");
        }
        if (magic.startsWith("\u0017\u0008Dtracing")) {
            throw new UnreadableTraceException(
                    name, "is a trace.dat file: give the output of 'trace-cmd report' instead");
        }
        if (magic.startsWith("\u00fd7zXZ") || magic.startsWith("BZh") || magic.startsWith("(\u00b5/\u00fd")) {
            throw new UnreadableTraceException(name, "is packed with xz, bzip2 or zstd: only gzip is read");
        }
    }

    /** Counts the bytes taken from a stream, as they are there (packed or not). */
    static final class Counted extends FilterInputStream {
        private long count;

        Counted(InputStream stream) {
            super(stream);
        }

        long count() {
            return count;
        }

        @Override
        public int read() throws IOException {
            int value = super.read();
            count += value < 0 ? 0 : 1;
            return value;
        }

        @Override
        public int read(byte[] buffer, int offset, int length) throws IOException {
            int read = super.read(buffer, offset, length);
            count += Math.max(read, 0);
            return read;
        }

        @Override
        public long skip(long bytes) throws IOException {
            long skipped = super.skip(bytes);
            count += skipped;
            return skipped;
        }
    }
}
