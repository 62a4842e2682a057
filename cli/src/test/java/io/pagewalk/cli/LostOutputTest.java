package io.pagewalk.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A result that could not be written is no success; a reader that has seen enough is no failure. */
class LostOutputTest {
    /** A stream that takes so many bytes and then fails. */
    private static OutputStream failingAfter(int bytes, String message) {
        return new OutputStream() {
            private int room = bytes;

            @Override
            public void write(int b) throws IOException {
                if (room-- <= 0) {
                    throw new IOException(message);
                }
            }
        };
    }

    private static String run(OutputStream out, int status) {
        StringWriter err = new StringWriter();
        assertThat(Pagewalk.run(out, new PrintWriter(err), "pin", "--memlock", "64K", "4096x1"))
                .isEqualTo(status);
        return err.toString();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 100})
    void aFullDiskIsReportedOnceWithAStatusOfItsOwn(int bytes) {
        assertThat(run(failingAfter(bytes, "No space left on device"), 74))
                .isEqualTo("pagewalk: results were lost: No space left on device" + System.lineSeparator());
    }

    @Test
    void aReaderThatWentAwayChangesNothing() {
        assertThat(run(failingAfter(10, "Broken pipe"), 0)).isEmpty();
    }

    @Test
    void outputThatIsWrittenChangesNothing() {
        assertThat(run(OutputStream.nullOutputStream(), 0)).isEmpty();
    }

    @Test
    void aStreamThatFailsWhenItIsFlushedHasLostOutputToo() {
        OutputStream unflushable = new OutputStream() {
            @Override
            public void write(int b) {}

            @Override
            public void flush() throws IOException {
                throw new IOException("Input/output error");
            }
        };
        assertThat(run(unflushable, 74)).contains("results were lost: Input/output error");
    }
}
