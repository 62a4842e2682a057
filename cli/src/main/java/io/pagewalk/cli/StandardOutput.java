package io.pagewalk.cli;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * Standard output that keeps why it could not be written, which writers for people do not tell. What comes after that
 * is dropped.
 */
final class StandardOutput extends FilterOutputStream {
    private @Nullable IOException failure;

    StandardOutput(OutputStream out) {
        super(out);
    }

    @Override
    public void write(int b) {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) {
        keepFailure(() -> out.write(bytes, offset, length));
    }

    @Override
    public void flush() {
        keepFailure(out::flush);
    }

    private void keepFailure(Writing writing) {
        if (failure == null) {
            try {
                writing.run();
            } catch (IOException e) {
                failure = e;
            }
        }
    }

    /** Why text was lost; null when none was, or when its reader went away and wants no more of it. */
    @Nullable IOException failure() {
        boolean readerLeft = failure != null && "Broken pipe".equals(failure.getMessage());
        return readerLeft ? null : failure;
    }

    private interface Writing {
        void run() throws IOException;
    }
}
