package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigInteger;

/** What vectors need of JSON values: numbers compare by value, whatever type holds them. */
final class Json {
    private static final int SHOWN_CHARS = 2000;

    private Json() {}

    /** Whether two values are the same. */
    static boolean same(JsonNode a, JsonNode b) {
        if (a.isIntegralNumber() && b.isIntegralNumber()) {
            return a.bigIntegerValue().equals(b.bigIntegerValue());
        }
        if (a.isArray() && b.isArray()) {
            return sameElements(a, b);
        }
        if (a.isObject() && b.isObject()) {
            return sameMembers(a, b);
        }
        return a.equals(b);
    }

    private static boolean sameElements(JsonNode a, JsonNode b) {
        boolean same = a.size() == b.size();
        for (int i = 0; same && i < a.size(); i++) {
            same = same(a.get(i), b.get(i));
        }
        return same;
    }

    private static boolean sameMembers(JsonNode a, JsonNode b) {
        return a.size() == b.size()
                && a.properties().stream()
                        .allMatch(member -> b.has(member.getKey()) && same(member.getValue(), b.get(member.getKey())));
    }

    /** How many values there are in a value: the leaves; an empty list is one statement too. */
    static int leaves(JsonNode value) {
        if (value.isMissingNode()) {
            return 0;
        }
        int count = 0;
        for (JsonNode child : value) {
            count += leaves(child);
        }
        return Math.max(count, 1);
    }

    /** The name at the end of a path. */
    static String lastName(String path) {
        return path.substring(path.lastIndexOf('.') + 1);
    }

    /** The value as text, cut when it is very long. */
    static String text(JsonNode value) {
        if (value.isMissingNode()) {
            return "nothing";
        }
        String whole = value.toString();
        return whole.length() <= SHOWN_CHARS
                ? whole
                : whole.substring(0, SHOWN_CHARS) + "... (" + (whole.length() - SHOWN_CHARS) + " more characters)";
    }

    /** An unsigned value as JSON writes it. */
    static BigInteger unsigned(long value) {
        BigInteger signed = BigInteger.valueOf(value);
        return value < 0 ? signed.add(BigInteger.ONE.shiftLeft(Long.SIZE)) : signed;
    }
}
