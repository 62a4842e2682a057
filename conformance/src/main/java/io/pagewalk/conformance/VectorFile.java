package io.pagewalk.conformance;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/** One file of vectors, plain or gzip: one that came with the project or one of a user's. Immutable. */
public final class VectorFile {
    private static final int BLOCK_BYTES = 1 << 16;
    private static final int GZIP_MAGIC_0 = 0x1f;
    private static final int GZIP_MAGIC_1 = 0x8b;
    private static final String FOLDER = "vectors/";

    private final String name;
    private final Opener opener;

    private VectorFile(String name, Opener opener) {
        this.name = name;
        this.opener = opener;
    }

    /** Opens the bytes as they are. */
    @FunctionalInterface
    private interface Opener {
        InputStream open() throws IOException;
    }

    static VectorFile of(Path path) {
        return new VectorFile(
                path.toString(),
                () -> Files.isRegularFile(path) ? Files.newInputStream(path) : new FileInputStream(path.toFile()));
    }

    static VectorFile shipped(String name) {
        return new VectorFile(name, () -> resource(name));
    }

    private static InputStream resource(String name) throws UnusableVectorsException {
        InputStream stream = VectorFile.class.getResourceAsStream(FOLDER + name);
        if (stream == null) {
            throw new UnusableVectorsException(name, "is not part of this build");
        }
        return stream;
    }

    /**
     * What messages call it.
     *
     * @return the path, or the name of a file that came with the project
     */
    public String name() {
        return name;
    }

    /** Opens it as text: unpacked when it starts like gzip. */
    VectorText open() throws UnusableVectorsException {
        BufferedInputStream buffered = new BufferedInputStream(openBytes(), BLOCK_BYTES);
        try {
            return new VectorText(
                    name, startsLikeGzip(buffered) ? new GZIPInputStream(buffered, BLOCK_BYTES) : plain(buffered));
        } catch (EOFException cut) {
            throw new UnusableVectorsException(name, "gzip stream ends early after line 0", cut);
        } catch (ZipException damaged) {
            throw new UnusableVectorsException(name, "gzip stream is damaged: " + damaged.getMessage(), damaged);
        } catch (UnusableVectorsException refused) {
            throw refused;
        } catch (IOException failed) {
            throw new UnusableVectorsException(name, "cannot be read: " + failed.getMessage(), failed);
        }
    }

    private InputStream openBytes() throws UnusableVectorsException {
        try {
            return opener.open();
        } catch (NoSuchFileException missing) {
            throw new UnusableVectorsException(name, "no such file", missing);
        } catch (AccessDeniedException denied) {
            throw new UnusableVectorsException(name, "permission denied", denied);
        } catch (UnusableVectorsException refused) {
            throw refused;
        } catch (IOException failed) {
            throw new UnusableVectorsException(name, "cannot be opened: " + failed.getMessage(), failed);
        }
    }

    private static boolean startsLikeGzip(BufferedInputStream buffered) throws IOException {
        buffered.mark(2);
        boolean gzip = buffered.read() == GZIP_MAGIC_0 && buffered.read() == GZIP_MAGIC_1;
        buffered.reset();
        return gzip;
    }

    private InputStream plain(InputStream stream) throws UnusableVectorsException {
        if (name.endsWith(".gz")) {
            throw new UnusableVectorsException(name, "is not gzip, whatever its name says");
        }
        return stream;
    }

    @Override
    public String toString() {
        return name;
    }
}
