package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;

/** Compares one answer of the recording with the library's, and says how many values it checked. */
@FunctionalInterface
interface Check {
    /**
     * Compares.
     *
     * @param path where the field stands in the line
     * @param expected what was recorded, missing when the line does not have the field
     * @param got what the library says, missing when the adapter gave no such answer
     * @param question what was asked
     * @param into takes the counts and the differences
     */
    void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into);
}
