package io.pagewalk.cli;

import java.io.FilterWriter;
import java.io.IOException;
import java.io.Writer;

/** A writer that is not closed with its user, as standard output is the command's. */
final class OpenWriter extends FilterWriter {
    OpenWriter(Writer out) {
        super(out);
    }

    @Override
    public void close() throws IOException {
        out.flush();
    }
}
