package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The fields that one kind of line has, and what each of them is: asked, checked exactly, checked by rule, or
 * informative. A field that is not listed makes a line bad. Immutable once built.
 */
public final class LineFormat {
    private final Map<String, Field> fields;

    private LineFormat(Map<String, Field> fields) {
        this.fields = fields;
    }

    /**
     * Starts a format.
     *
     * @return no fields yet
     */
    public static Builder builder() {
        return new Builder();
    }

    /** Takes the inputs out of a line or a nested object. */
    ObjectNode inputs(String prefix, JsonNode line) {
        if (!line.isObject()) {
            throw new BadVectorException("\"" + prefix + "\" is " + Json.text(line) + ", not an object");
        }
        line.fieldNames().forEachRemaining(name -> requireKnown(prefix, name));
        ObjectNode inputs = JsonNodeFactory.instance.objectNode();
        fields.forEach((name, field) -> field.ask(prefix + name, name, line, inputs));
        return inputs;
    }

    private void requireKnown(String prefix, String name) {
        if (!fields.containsKey(name)) {
            throw new BadVectorException("unknown field \"" + prefix + name + "\"");
        }
    }

    /** Compares a line or a nested object with its answers. */
    void compare(String prefix, JsonNode line, Answers answers, Question question, Comparison into) {
        answers.names().forEach(name -> requireAnswerable(prefix, name));
        fields.forEach((name, field) ->
                field.compare(prefix + name, orMissing(line.get(name)), answers.get(name), question, into));
    }

    private void requireAnswerable(String prefix, String name) {
        if (!fields.containsKey(name)) {
            throw new IllegalStateException("an adapter answered \"" + prefix + name + "\", which no line has");
        }
    }

    private static JsonNode orMissing(@Nullable JsonNode value) {
        return value == null ? MissingNode.getInstance() : value;
    }

    /** Lists the fields of a format. Not thread-safe. */
    public static final class Builder {
        private final Map<String, Field> fields = new LinkedHashMap<>();

        private Builder() {}

        /**
         * Fields that say which line it is.
         *
         * @param names the fields
         * @return this
         */
        public Builder identity(String... names) {
            return input(names);
        }

        /**
         * Fields that are asked, and have to be there.
         *
         * @param names the fields
         * @return this
         */
        public Builder input(String... names) {
            return put(new Field.Input(true), names);
        }

        /**
         * Fields that are asked where they are there.
         *
         * @param names the fields
         * @return this
         */
        public Builder optionalInput(String... names) {
            return put(new Field.Input(false), names);
        }

        /**
         * Answers that are to be the same, and there on both sides or on neither.
         *
         * @param names the fields
         * @return this
         */
        public Builder exact(String... names) {
            return put(new Field.Checked(Checks::exact), names);
        }

        /**
         * States that are asked where they are there, since lines that led to them are missing, and checked exactly:
         * who answers brings the state about by what may have happened between the lines, and says how it is then.
         *
         * @param names the fields
         * @return this
         */
        public Builder exactAndAsked(String... names) {
            return put(new Field.Asked(Checks::exact), names);
        }

        /**
         * A state that is asked and checked by a rule.
         *
         * @param name the field
         * @param rule the rule
         * @return this
         */
        public Builder ruleAndAsked(String name, Rule rule) {
            return put(new Field.Asked(rule), name);
        }

        /**
         * A key of verbs, checked by how it lies to the keys before it.
         *
         * @param name the field
         * @param keys the keys of all lines of the family
         * @return this
         */
        public Builder key(String name, KeyCheck keys) {
            return put(new Field.Checked(keys.of(name)), name);
        }

        /**
         * An answer that is checked by a rule.
         *
         * @param name the field
         * @param rule the rule
         * @return this
         */
        public Builder rule(String name, Rule rule) {
            return put(new Field.Checked(rule), name);
        }

        /**
         * An answer that was taken in some lines only. Whether it is wanted is asked, as a truth value of that name.
         *
         * @param name the field
         * @param rule how it is checked
         * @return this
         */
        public Builder ruleWhereWanted(String name, Rule rule) {
            return put(new Field.Wanted(rule), name);
        }

        /**
         * Answers that are checked exactly and were taken in some lines only. Whether one is wanted is asked, as a
         * truth value of its name.
         *
         * @param names the fields
         * @return this
         */
        public Builder exactWhereWanted(String... names) {
            return put(new Field.Wanted(Checks::exact), names);
        }

        /**
         * Answers that nothing can be held to.
         *
         * @param kind why
         * @param names the fields
         * @return this
         */
        public Builder informative(Informative kind, String... names) {
            return put(new Field.Noted(kind), names);
        }

        /**
         * An object with fields of its own.
         *
         * @param name the field
         * @param format its fields
         * @return this
         */
        public Builder object(String name, LineFormat format) {
            return put(new Field.Nested(format), name);
        }

        /**
         * A list of objects of one format.
         *
         * @param name the field
         * @param format the fields of each
         * @return this
         */
        public Builder objects(String name, LineFormat format) {
            return put(new Field.NestedList((path, element) -> format), name);
        }

        /**
         * A list of objects whose member {@code op} says of which format each is.
         *
         * @param name the field
         * @param formats the formats by that member's value
         * @return this
         */
        public Builder objectsByOp(String name, Map<String, LineFormat> formats) {
            return put(new Field.NestedList((path, element) -> chosen(formats, path, element)), name);
        }

        private static LineFormat chosen(Map<String, LineFormat> formats, String path, JsonNode element) {
            LineFormat format = formats.get(element.path("op").asText());
            if (format == null) {
                throw new BadVectorException("unknown op in \"" + path + "\": " + Json.text(element));
            }
            return format;
        }

        /**
         * A script of operations, each a letter followed by inputs and results.
         *
         * @param name the field
         * @param shapes for each letter, how many inputs and how many results follow
         * @return this
         */
        public Builder operations(String name, Map<String, int[]> shapes) {
            Map<String, OperationField.Shape> copy = new HashMap<>();
            shapes.forEach((letter, counts) -> copy.put(letter, new OperationField.Shape(counts[0], counts[1])));
            return put(new OperationField(copy), name);
        }

        /**
         * Lookups while a list is mapped: the first bytes of its segments, a byte inside each that the recording module
         * chose at random, the last bytes, and the page after the last segment. Asked are only how far inside the
         * chosen bytes are, as a list of that name.
         *
         * @param name the field
         * @param segments the field with the segments
         * @return this
         */
        public Builder probes(String name, String segments) {
            return put(new ProbeField(segments), name);
        }

        private Builder put(Field field, String... names) {
            for (String name : names) {
                if (fields.put(name, field) != null) {
                    throw new IllegalArgumentException("field " + name + " is listed twice");
                }
            }
            return this;
        }

        /**
         * Ends the format.
         *
         * @return the format
         */
        public LineFormat build() {
            return new LineFormat(new LinkedHashMap<>(fields));
        }
    }
}
