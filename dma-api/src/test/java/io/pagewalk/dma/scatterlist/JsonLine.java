package io.pagewalk.dma.scatterlist;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads one line of a recorded vector: objects, arrays, whole numbers and plain strings. */
final class JsonLine {
    private final String text;
    private int at;

    private JsonLine(String text) {
        this.text = text;
    }

    static Map<String, Object> parse(String line) {
        return new JsonLine(line.strip()).object();
    }

    private Object value() {
        return switch (text.charAt(at)) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            default -> number();
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> members = new LinkedHashMap<>();
        at++;
        while (text.charAt(at) != '}') {
            String name = string();
            at++;
            members.put(name, value());
            skipComma();
        }
        at++;
        return members;
    }

    private List<Object> array() {
        List<Object> elements = new ArrayList<>();
        at++;
        while (text.charAt(at) != ']') {
            elements.add(value());
            skipComma();
        }
        at++;
        return elements;
    }

    private void skipComma() {
        if (text.charAt(at) == ',') {
            at++;
        }
    }

    private String string() {
        int end = text.indexOf('"', at + 1);
        String found = text.substring(at + 1, end);
        at = end + 1;
        return found;
    }

    private Long number() {
        int start = at;
        while ("-0123456789".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String digits = text.substring(start, at);
        return digits.startsWith("-") ? Long.parseLong(digits) : Long.parseUnsignedLong(digits);
    }
}
