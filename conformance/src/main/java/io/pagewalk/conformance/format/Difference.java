package io.pagewalk.conformance.format;

/**
 * One value on which the recording and the library disagree.
 *
 * @param path where it stands in the line, such as {@code out[2]}
 * @param expected what was recorded
 * @param got what the library says
 * @param why the rule, where it is not plain equality
 */
public record Difference(String path, String expected, String got, String why) {}
