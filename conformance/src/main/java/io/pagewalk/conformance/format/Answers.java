package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;

/** What the library answered to a line, field by field. Filled by an adapter, read by the comparison. */
public final class Answers {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private final ObjectNode fields = NODES.objectNode();

    /** Starts with no answer. */
    public Answers() {}

    /**
     * Answers with an unsigned number.
     *
     * @param name the field
     * @param value its value, unsigned
     * @return this
     */
    public Answers unsigned(String name, long value) {
        fields.put(name, Json.unsigned(value));
        return this;
    }

    /**
     * Answers with a signed number.
     *
     * @param name the field
     * @param value its value
     * @return this
     */
    public Answers signed(String name, long value) {
        fields.put(name, value);
        return this;
    }

    /**
     * Answers with a truth value.
     *
     * @param name the field
     * @param value its value
     * @return this
     */
    public Answers flag(String name, boolean value) {
        fields.put(name, value);
        return this;
    }

    /**
     * Answers with 1 or 0.
     *
     * @param name the field
     * @param value its value
     * @return this
     */
    public Answers bit(String name, boolean value) {
        return signed(name, value ? 1 : 0);
    }

    /**
     * Answers that there is nothing: {@code DMA_MAPPING_ERROR} or no result.
     *
     * @param name the field
     * @return this
     */
    public Answers none(String name) {
        fields.putNull(name);
        return this;
    }

    /**
     * Answers with a text.
     *
     * @param name the field
     * @param value its value
     * @return this
     */
    public Answers text(String name, String value) {
        fields.put(name, value);
        return this;
    }

    /**
     * Answers with a list of unsigned numbers.
     *
     * @param name the field
     * @param values the numbers
     * @return this
     */
    public Answers list(String name, long... values) {
        fields.set(name, unsignedRow(values));
        return this;
    }

    /**
     * Answers with rows of unsigned numbers.
     *
     * @param name the field
     * @param rows the rows
     * @return this
     */
    public Answers rows(String name, List<long[]> rows) {
        ArrayNode list = fields.putArray(name);
        rows.forEach(row -> list.add(unsignedRow(row)));
        return this;
    }

    private static ArrayNode unsignedRow(long[] values) {
        ArrayNode row = NODES.arrayNode(values.length);
        for (long value : values) {
            row.add(Json.unsigned(value));
        }
        return row;
    }

    /**
     * Answers with rows of signed numbers.
     *
     * @param name the field
     * @param rows the rows
     * @return this
     */
    public Answers signedRows(String name, List<long[]> rows) {
        ArrayNode list = fields.putArray(name);
        for (long[] values : rows) {
            ArrayNode row = list.addArray();
            for (long value : values) {
                row.add(value);
            }
        }
        return this;
    }

    /**
     * Answers with a device address of a boot whose addresses a timer chose: only its offset in the page counts.
     *
     * @param name the field
     * @param dmaAddr the address
     * @return this
     */
    public Answers placed(String name, long dmaAddr) {
        fields.putObject(name).put("placed", Json.unsigned(dmaAddr));
        return this;
    }

    /**
     * Answers with rows that begin with a device address, of a boot whose addresses a timer chose: only how they lie to
     * the page of the first counts.
     *
     * @param name the field
     * @param rows the rows
     * @return this
     */
    public Answers placedRows(String name, List<long[]> rows) {
        ArrayNode list = fields.putObject(name).putArray("placed");
        rows.forEach(row -> list.add(unsignedRow(row)));
        return this;
    }

    /**
     * As {@link #placedRows} for lookups, one of which lies beyond the mapping: what is mapped there depends on where
     * things lie.
     *
     * @param name the field
     * @param rows addresses with what they are mapped to
     * @param beyond the index of the row that lies beyond, -1 for none
     * @return this
     */
    public Answers placedProbes(String name, List<long[]> rows, int beyond) {
        placedRows(name, rows);
        fields.withObject("/" + name).put("beyond", beyond);
        return this;
    }

    /**
     * Answers with an object of answers.
     *
     * @param name the field
     * @param members its answers
     * @return this
     */
    public Answers object(String name, Answers members) {
        fields.set(name, members.fields);
        return this;
    }

    /**
     * Answers with a list of objects.
     *
     * @param name the field
     * @param elements their answers
     * @return this
     */
    public Answers objects(String name, List<Answers> elements) {
        ArrayNode list = fields.putArray(name);
        elements.forEach(element -> list.add(element.fields));
        return this;
    }

    /**
     * Answers with what the kernel logged.
     *
     * @param name the field
     * @param entries what was logged
     * @return this
     */
    public Answers log(String name, List<LogEntry> entries) {
        ArrayNode list = fields.putArray(name);
        entries.forEach(e -> list.addArray().add(e.site()).add(e.warning()).add(e.text()));
        return this;
    }

    /**
     * One thing that the library's kernel logged.
     *
     * @param site where
     * @param warning whether with a stack trace
     * @param text what
     */
    public record LogEntry(String site, boolean warning, String text) {}

    JsonNode get(String name) {
        JsonNode value = fields.get(name);
        return value == null ? MissingNode.getInstance() : value;
    }

    static Answers of(JsonNode value) {
        Answers answers = new Answers();
        if (value instanceof ObjectNode members) {
            answers.fields.setAll(members);
        }
        return answers;
    }

    /** Names of the fields that were answered. */
    Iterable<String> names() {
        return fields::fieldNames;
    }

    @Override
    public String toString() {
        return fields.toString();
    }
}
