package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/**
 * What a line asks: its input fields and nothing else. The recorded answers are not in here, so that whoever answers
 * cannot look at them. Made by {@link LineFormat#question}.
 */
public final class Question {
    private final ObjectNode inputs;

    Question(ObjectNode inputs) {
        this.inputs = inputs;
    }

    private JsonNode field(String name) {
        JsonNode value = inputs.get(name);
        if (value == null) {
            throw new BadVectorException("field \"" + name + "\" is missing");
        }
        return value;
    }

    /**
     * Whether an optional input is there and not null.
     *
     * @param name the field
     * @return true when it can be read
     */
    public boolean has(String name) {
        return inputs.hasNonNull(name);
    }

    /**
     * A text.
     *
     * @param name the field
     * @return its value
     */
    public String text(String name) {
        JsonNode value = field(name);
        if (!value.isTextual()) {
            throw wrongType(name, value, "a text");
        }
        return value.textValue();
    }

    /**
     * A truth value.
     *
     * @param name the field
     * @return its value
     */
    public boolean flag(String name) {
        JsonNode value = field(name);
        if (!value.isBoolean()) {
            throw wrongType(name, value, "true or false");
        }
        return value.booleanValue();
    }

    /**
     * Whether an answer is wanted that only some lines have.
     *
     * @param name the field
     * @return false when the line does not have it
     */
    public boolean wants(String name) {
        JsonNode value = inputs.get(name);
        return value != null && !(value.isBoolean() && !value.booleanValue());
    }

    /**
     * A number of up to 64 bits, unsigned or signed.
     *
     * @param name the field
     * @return its bits
     */
    public long number(String name) {
        return number(name, field(name));
    }

    /**
     * Whether an input is a number; some are a word instead where there is no limit.
     *
     * @param name the field
     * @return true when {@link #number(String)} can read it
     */
    public boolean isNumber(String name) {
        return field(name).isIntegralNumber();
    }

    /**
     * A number that fits an int.
     *
     * @param name the field
     * @return its value
     */
    public int integer(String name) {
        JsonNode value = field(name);
        if (!value.isIntegralNumber() || !value.canConvertToInt()) {
            throw wrongType(name, value, "a small integer");
        }
        return value.intValue();
    }

    private static long number(String name, JsonNode value) {
        if (!value.isIntegralNumber()) {
            throw wrongType(name, value, "an integer");
        }
        BigInteger number = value.bigIntegerValue();
        if (number.bitLength() > (number.signum() < 0 ? Long.SIZE - 1 : Long.SIZE)) {
            throw wrongType(name, value, "an integer of 64 bits");
        }
        return number.longValue();
    }

    /**
     * A list of rows of numbers.
     *
     * @param name the field
     * @param columns how many numbers a row has
     * @return the rows, each of that length
     */
    public List<long[]> rows(String name, int columns) {
        List<long[]> rows = new ArrayList<>();
        for (JsonNode row : list(name)) {
            if (!row.isArray() || row.size() != columns) {
                throw wrongType(name, row, "a row of " + columns + " numbers");
            }
            rows.add(numbers(name, row, 0));
        }
        return rows;
    }

    private static long[] numbers(String name, JsonNode row, int from) {
        long[] numbers = new long[row.size() - from];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = number(name, row.get(from + i));
        }
        return numbers;
    }

    /**
     * A list of numbers.
     *
     * @param name the field
     * @return the numbers
     */
    public long[] numbers(String name) {
        return numbers(name, list(name), 0);
    }

    /**
     * An object with inputs of its own.
     *
     * @param name the field
     * @return what it asks
     */
    public Question object(String name) {
        return object(name, field(name));
    }

    /**
     * A list of objects with inputs of their own.
     *
     * @param name the field
     * @return what they ask
     */
    public List<Question> objects(String name) {
        List<Question> objects = new ArrayList<>();
        for (JsonNode element : list(name)) {
            objects.add(object(name, element));
        }
        return objects;
    }

    private static Question object(String name, JsonNode value) {
        if (value instanceof ObjectNode members) {
            return new Question(members);
        }
        throw wrongType(name, value, "an object");
    }

    /**
     * A list of operations, each a letter and numbers.
     *
     * @param name the field
     * @return the operations
     */
    public List<Operation> operations(String name) {
        List<Operation> operations = new ArrayList<>();
        for (JsonNode element : list(name)) {
            operations.add(new Operation(element.get(0).textValue(), numbers(name, element, 1)));
        }
        return operations;
    }

    private JsonNode list(String name) {
        JsonNode value = field(name);
        if (!value.isArray()) {
            throw wrongType(name, value, "a list");
        }
        return value;
    }

    private static BadVectorException wrongType(String name, JsonNode value, String wanted) {
        return new BadVectorException("field \"" + name + "\" is " + Json.text(value) + ", not " + wanted);
    }

    /** The inputs as JSON. */
    @Override
    public String toString() {
        return inputs.toString();
    }
}
