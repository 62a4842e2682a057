package io.pagewalk.backends.boot;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A kernel command line, taken apart: parameters by name, in the order in which they stand, each as often as it was
 * given.
 *
 * <p>Parameters are separated by white space, except inside double quotes, which go away. In names {@code -} and
 * {@code _} are the same. What follows {@code --} is for init and left out. Immutable.
 */
public final class KernelCommandLine {
    private static final char QUOTE = '"';

    private record Parameter(String name, String value) {}

    private final List<Parameter> parameters;

    private KernelCommandLine(List<Parameter> parameters) {
        this.parameters = List.copyOf(parameters);
    }

    /**
     * Takes a command line apart.
     *
     * @param text the line, possibly empty; nothing in it is an error
     * @return its parameters
     */
    public static KernelCommandLine parse(String text) {
        List<Parameter> parameters = new ArrayList<>();
        for (String word : words(text)) {
            if (word.equals("--")) {
                break;
            }
            parameters.add(parameter(word));
        }
        return new KernelCommandLine(parameters);
    }

    private static List<String> words(String text) {
        List<String> words = new ArrayList<>();
        StringBuilder word = new StringBuilder();
        boolean quoted = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == QUOTE) {
                quoted = !quoted;
            } else if (!quoted && Character.isWhitespace(c)) {
                endWord(word, words);
            } else {
                word.append(c);
            }
        }
        endWord(word, words);
        return words;
    }

    private static void endWord(StringBuilder word, List<String> words) {
        if (!word.isEmpty()) {
            words.add(word.toString());
            word.setLength(0);
        }
    }

    private static Parameter parameter(String word) {
        int equals = word.indexOf('=');
        return equals < 0
                ? new Parameter(unified(word), "")
                : new Parameter(unified(word.substring(0, equals)), word.substring(equals + 1));
    }

    private static String unified(String name) {
        return name.replace('-', '_');
    }

    /**
     * The values of a parameter.
     *
     * @param name its name
     * @return a value for each time it was given, in order, empty text where it stood without {@code =}
     */
    public List<String> values(String name) {
        String wanted = unified(name);
        return parameters.stream()
                .filter(p -> p.name().equals(wanted))
                .map(Parameter::value)
                .toList();
    }

    /**
     * The value of a parameter of which the last one counts.
     *
     * @param name its name
     * @return the last value, or null when it was not given
     */
    public @Nullable String value(String name) {
        List<String> all = values(name);
        return all.isEmpty() ? null : all.get(all.size() - 1);
    }

    /**
     * The options of a parameter that takes a list separated by commas.
     *
     * @param name its name
     * @return the options of all its values, in order
     */
    public List<String> options(String name) {
        return values(name).stream()
                .flatMap(value -> Arrays.stream(value.split(",")))
                .toList();
    }

    /**
     * Shows every parameter in the order in which they stand, as the kernel's handlers are called.
     *
     * @param action takes name and value, the name with {@code _} for {@code -}
     */
    public void forEach(BiConsumer<String, String> action) {
        parameters.forEach(parameter -> action.accept(parameter.name(), parameter.value()));
    }

    /**
     * Reads a value as the kernel reads a bool: by its first letter, or two of {@code on} and {@code off}.
     *
     * @param value the value
     * @param otherwise what holds when it is none
     * @return what it says
     */
    public static boolean bool(String value, boolean otherwise) {
        String start = value.substring(0, Math.min(2, value.length())).toLowerCase(Locale.ROOT);
        if (start.isEmpty()) {
            return otherwise;
        }
        return switch (start.charAt(0)) {
            case 'y', 't', '1' -> true;
            case 'n', 'f', '0' -> false;
            default -> start.equals("on") || (otherwise && !start.equals("of"));
        };
    }

    @Override
    public String toString() {
        return parameters.toString();
    }
}
