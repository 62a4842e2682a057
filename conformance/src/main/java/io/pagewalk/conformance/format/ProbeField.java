package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Lookups at three places of each of the first segments, and one after the last. Only the middle one of the three was
 * chosen by the recording module; how far inside its segment it lies is all that is asked, for each segment that there
 * could be, so that the question does not even tell how many there were.
 */
record ProbeField(String segments) implements Field {
    private static final int PROBED_SEGMENTS = 12;

    @Override
    public void ask(String path, String name, JsonNode line, ObjectNode question) {
        ArrayNode inside = question.putArray(name);
        JsonNode rows = line.path(name);
        int row = 0;
        for (JsonNode segment : line.path(segments)) {
            if (inside.size() == PROBED_SEGMENTS) {
                break;
            }
            boolean empty = segment.path(1).asLong() == 0;
            inside.add(empty ? 0 : address(rows, row + 1) - address(rows, row));
            row += empty ? 1 : 3;
        }
        while (inside.size() < PROBED_SEGMENTS) {
            inside.add(0);
        }
    }

    private static long address(JsonNode rows, int row) {
        return rows.path(row).path(0).asLong();
    }

    @Override
    public void compare(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
        LayoutCheck.check(path, expected, got, question, into);
    }
}
