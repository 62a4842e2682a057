package io.pagewalk.conformance;

/**
 * One value on which a recording and the library disagree.
 *
 * @param path where it stands in the line, such as {@code out[2]}; empty when the line as a whole is at fault
 * @param expected what was recorded
 * @param got what the library says
 * @param why the rule, empty where the values are to be the same
 */
public record FieldDifference(String path, String expected, String got, String why) {}
