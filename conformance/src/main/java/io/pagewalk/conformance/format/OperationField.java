package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;

/** A script: operations of a letter, inputs and results. The results are cut off before anyone is asked. */
record OperationField(Map<String, Shape> shapes) implements Field {
    /**
     * How long an operation is.
     *
     * @param inputs numbers after the letter that are asked
     * @param results numbers after those that are answered
     */
    record Shape(int inputs, int results) {}

    @Override
    public void ask(String path, String name, JsonNode line, ObjectNode question) {
        JsonNode value = line.path(name);
        if (!value.isArray()) {
            throw new BadVectorException("field \"" + path + "\" is " + Json.text(value) + ", not a list");
        }
        ArrayNode operations = question.putArray(name);
        for (int i = 0; i < value.size(); i++) {
            JsonNode operation = value.get(i);
            Shape shape = shape(path + "[" + i + "]", operation);
            ArrayNode asked = operations.addArray();
            for (int k = 0; k <= shape.inputs; k++) {
                asked.add(operation.get(k));
            }
        }
    }

    private Shape shape(String path, JsonNode operation) {
        Shape shape =
                operation.path(0).isTextual() ? shapes.get(operation.get(0).textValue()) : null;
        if (shape == null) {
            throw new BadVectorException("unknown operation " + Json.text(operation) + " in \"" + path + "\"");
        }
        if (operation.size() != 1 + shape.inputs + shape.results) {
            throw new BadVectorException("operation " + Json.text(operation) + " in \"" + path + "\" has "
                    + (operation.size() - 1) + " numbers, not " + (shape.inputs + shape.results));
        }
        return shape;
    }

    @Override
    public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
        for (int i = 0; i < expected.size(); i++) {
            JsonNode operation = expected.get(i);
            String element = path + "[" + i + "]";
            Shape shape = shape(element, operation);
            compareResults(element, operation, shape, got.path(i), into);
        }
        if (got.size() > expected.size()) {
            into.differ(path, expected, got, "as many answers as there are operations");
        }
    }

    private static void compareResults(String path, JsonNode operation, Shape shape, JsonNode got, Comparison into) {
        into.exact(shape.results);
        boolean same = got.size() == shape.results;
        for (int k = 0; same && k < shape.results; k++) {
            same = Json.same(operation.get(1 + shape.inputs + k), got.path(k));
        }
        if (!same) {
            into.differ(path, operation, got.isMissingNode() ? MissingNode.getInstance() : got, "");
        }
    }
}
