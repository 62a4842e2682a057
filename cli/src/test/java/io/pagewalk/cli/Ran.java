package io.pagewalk.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

/** One run of the command within the test's JVM. */
record Ran(int status, String out, String err) {
    static Ran pagewalk(String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = Pagewalk.run(new PrintWriter(out), new PrintWriter(err), args);
        return new Ran(status, out.toString(), err.toString());
    }

    List<String> errLines() {
        return err.lines().toList();
    }

    /** The cells of the first row of a label. */
    List<String> row(String label) {
        return out.lines()
                .filter(l -> l.startsWith("  " + label + "  "))
                .findFirst()
                .map(l -> List.of(l.substring(label.length() + 2).strip().split("\\s{2,}", -1)))
                .orElseThrow(() -> new AssertionError("no row \"" + label + "\" in\n" + out));
    }
}
