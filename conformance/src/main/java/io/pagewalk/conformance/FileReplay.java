package io.pagewalk.conformance;

import io.pagewalk.conformance.adapter.Adapter;
import io.pagewalk.conformance.adapter.Family;
import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.Comparison;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.conformance.format.VectorLine;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Replays one file, boot by boot. */
final class FileReplay implements AutoCloseable {
    private static final int SHOWN_CHARS = 2000;

    private final String file;
    private final ConformanceRun run;
    private String boot = "";
    private String bootFamily = "";
    private @Nullable Adapter adapter;
    private boolean anyVector;

    FileReplay(String file, ConformanceRun run) {
        this.file = file;
        this.run = run;
    }

    /** Replays a line. Whatever is wrong with it is a failure with a name; no line is passed over. */
    void line(int number, String text) {
        Where where = new Where(number, text);
        try {
            VectorLine line = VectorLine.parse(text);
            where.id = line.id();
            anyVector |= line.family() != null;
            replay(where, line);
        } catch (BadVectorException bad) {
            fail(where, List.of(new FieldDifference("", "a vector", "" + bad.getMessage(), "")));
        }
    }

    /** What is known of a line when it fails. */
    private static final class Where {
        private final int number;
        private final String text;
        private String family = ConformanceResult.UNKNOWN;
        private @Nullable String id;
        private @Nullable Question question;

        Where(int number, String text) {
            this.number = number;
            this.text = text;
        }

        /** What the line asks, or the line itself when that could not be told. */
        String input() {
            if (question != null) {
                return question.toString();
            }
            return text.length() <= SHOWN_CHARS ? text : text.substring(0, SHOWN_CHARS) + "...";
        }
    }

    private void replay(Where where, VectorLine line) {
        String name = line.family();
        if (name == null) {
            throw new BadVectorException("no family: neither \"fam\" nor \"dev\" and \"group\"");
        }
        Family family = run.family(name);
        if (family == null) {
            throw new BadVectorException("unknown family \"" + name + "\"");
        }
        where.family = name;
        if (line.isBoot()) {
            begin(name, line);
        }
        LineFormat format = family.format(line.kind());
        if (format == null) {
            throw new BadVectorException("unknown " + (line.label("fn") == null ? "op" : "fn") + " \"" + line.kind()
                    + "\" of family " + name);
        }
        Question question = line.question(format);
        where.question = question;
        if (family.hasBoots() && !name.equals(bootFamily)) {
            throw new BadVectorException("no boot line of family " + name + " before it");
        }
        judge(where, family, line, format, question);
    }

    private void begin(String family, VectorLine line) {
        close();
        bootFamily = family;
        String name = line.label("boot");
        boot = name == null ? "" : name;
    }

    private void judge(Where where, Family family, VectorLine line, LineFormat format, Question question) {
        PendingTally entry = pendingEntry(family.name(), line);
        Comparison comparison = null;
        String unable = "";
        try {
            comparison = line.compare(format, question, answers(family, line, question));
        } catch (BadVectorException bad) {
            throw bad;
        } catch (RuntimeException thrown) {
            // Whatever the library throws is a disagreement of this line; the others still have their say.
            unable = "threw " + thrown;
        }
        if (entry != null) {
            entry.line(comparison != null && comparison.differences().isEmpty());
            run.tally(family.name()).pending();
        } else if (comparison == null) {
            fail(where, List.of(new FieldDifference("", "an answer", unable, "")));
        } else if (run.tally(family.name()).compared(comparison)) {
            report(where, differences(comparison));
        }
    }

    private @Nullable PendingTally pendingEntry(String family, VectorLine line) {
        for (PendingTally tally : run.pending()) {
            if (tally.entry().covers(family, boot, line)) {
                return tally;
            }
        }
        return null;
    }

    private Answers answers(Family family, VectorLine line, Question question) {
        if (line.isBoot()) {
            adapter = family.boot(question);
            return adapter.boot();
        }
        if (adapter == null && !family.hasBoots()) {
            adapter = family.boot(question);
        }
        if (adapter == null) {
            throw new BadVectorException("the boot that it belongs to did not come up");
        }
        return adapter.answer(line.kind(), question);
    }

    private static List<FieldDifference> differences(Comparison comparison) {
        return comparison.differences().stream()
                .map(d -> new FieldDifference(d.path(), d.expected(), d.got(), d.why()))
                .toList();
    }

    private void fail(Where where, List<FieldDifference> differences) {
        run.tally(where.family).failed();
        report(where, differences);
    }

    private void report(Where where, List<FieldDifference> differences) {
        run.fail(() -> new Disagreement(
                file, where.number, where.family, boot.isEmpty() ? null : boot, where.id, where.input(), differences));
    }

    /** A file without a single vector in it was given by mistake. */
    void requireVectors() throws UnusableVectorsException {
        if (!anyVector) {
            throw new UnusableVectorsException(file, "holds no vectors: no line is a JSON object with a family");
        }
    }

    @Override
    public void close() {
        if (adapter != null) {
            adapter.close();
            adapter = null;
        }
    }
}
