package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;

/** Checks for all families. */
final class Checks {
    private Checks() {}

    /** Every value is to be the same, and a field is there on both sides or on neither. */
    static void exact(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
        into.exact(Json.leaves(expected));
        compare(path, expected, got, into);
    }

    private static void compare(String path, JsonNode expected, JsonNode got, Comparison into) {
        if (Json.same(expected, got)) {
            return;
        }
        if (expected.isArray() && got.isArray() && expected.size() == got.size()) {
            int first = 0;
            while (Json.same(expected.get(first), got.get(first))) {
                first++;
            }
            compare(path + "[" + first + "]", expected.get(first), got.get(first), into);
        } else {
            into.differ(path, expected, got, "");
        }
    }
}
