package io.pagewalk.conformance.format;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.jspecify.annotations.Nullable;

/**
 * One line of a vector file. It tells which line it is, gives what it asks, and compares what it was answered with what
 * was recorded; the recorded answers themselves it gives to nobody.
 */
public final class VectorLine {
    private static final ObjectReader READER = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build()
            .readerFor(JsonNode.class);

    private final JsonNode line;

    private VectorLine(JsonNode line) {
        this.line = line;
    }

    /** The parser tells where it reads from, which is no help here: the line is shown beside. */
    private static String withoutSource(String message) {
        return message.replaceAll(" \\(start marker at \\[Source:.*", "");
    }

    /**
     * Reads a line.
     *
     * @param text the line
     * @return the line
     * @throws BadVectorException when it is not one JSON object
     */
    public static VectorLine parse(String text) {
        JsonNode line;
        try {
            line = READER.readTree(text);
        } catch (JsonProcessingException malformed) {
            throw new BadVectorException("malformed: " + withoutSource(malformed.getOriginalMessage()));
        }
        if (!line.isObject()) {
            throw new BadVectorException("malformed: not a JSON object");
        }
        return new VectorLine(line);
    }

    /**
     * Which family the line belongs to.
     *
     * @return its {@code fam}; what was seen of verbs says {@code dev} instead; null when it says neither
     */
    public @Nullable String family() {
        String family = textOrNull("fam");
        if (family == null && line.has("group")) {
            String dev = textOrNull("dev");
            return dev == null ? null : "rdma-" + dev;
        }
        return family;
    }

    /**
     * Whether a boot begins here.
     *
     * @return true when state starts afresh
     */
    public boolean isBoot() {
        return "boot".equals(textOrNull("type"));
    }

    /**
     * What kind of line it is in its family: {@code boot}, or its {@code op} or {@code fn}, or {@code script}.
     *
     * @return a name
     */
    public String kind() {
        if (isBoot()) {
            return "boot";
        }
        String op = textOrNull("op");
        String fn = textOrNull("fn");
        return op != null ? op : fn != null ? fn : "script";
    }

    /**
     * A text that tells which line it is.
     *
     * @param name such as {@code boot}, {@code op}, {@code fn} or {@code group}
     * @return its value, or null
     */
    public @Nullable String label(String name) {
        return textOrNull(name);
    }

    private @Nullable String textOrNull(String name) {
        JsonNode value = line.get(name);
        return value != null && value.isTextual() ? value.textValue() : null;
    }

    /**
     * The number of the line in its boot.
     *
     * @return its id, or null
     */
    public @Nullable String id() {
        return line.path("id").isIntegralNumber() ? line.path("id").asText() : null;
    }

    /**
     * Takes out what the line asks.
     *
     * @param format the fields of such a line
     * @return the inputs alone
     * @throws BadVectorException when a field is unknown or an input missing
     */
    public Question question(LineFormat format) {
        return new Question(format.inputs("", line));
    }

    /**
     * Compares answers with what was recorded.
     *
     * @param format the fields of such a line
     * @param question what was asked
     * @param answers what was answered
     * @return what agreed and what did not
     */
    public Comparison compare(LineFormat format, Question question, Answers answers) {
        Comparison comparison = new Comparison();
        format.compare("", line, answers, question, comparison);
        return comparison;
    }
}
