package io.pagewalk.cli;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Standard output that remembers what went wrong, as a {@code PrintWriter} above it says nothing of it: a full disk
 * must not look like success.
 */
final class StandardOutput extends FilterOutputStream {
    private static final String READER_HAS_GONE = "Broken pipe";

    private @Nullable String failure;

    StandardOutput(OutputStream out) {
        super(out);
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int count) throws IOException {
        try {
            out.write(bytes, offset, count);
        } catch (IOException failed) {
            note(failed);
            throw failed;
        }
    }

    @Override
    public void flush() throws IOException {
        try {
            out.flush();
        } catch (IOException failed) {
            note(failed);
            throw failed;
        }
    }

    private void note(IOException failed) {
        if (failure == null) {
            failure = String.valueOf(failed.getMessage());
        }
    }

    /** Why output is missing, or null; a reader that has seen enough, as {@code head} does, is no failure. */
    @Nullable String failure() {
        return READER_HAS_GONE.equals(failure) ? null : failure;
    }
}
