package io.pagewalk.conformance.format;

/**
 * One operation of a script: a letter and its inputs.
 *
 * @param letter which operation
 * @param inputs its numbers
 */
@SuppressWarnings("ArrayRecordComponent") // read once, never compared
public record Operation(String letter, long... inputs) {}
