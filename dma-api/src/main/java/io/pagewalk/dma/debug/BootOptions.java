package io.pagewalk.dma.debug;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The parameters of dma-debug on a kernel's command line, of which the last one counts (dma-core:DBG-1, DBG-71,
 * DBG-75).
 */
final class BootOptions {
    private static final Pattern WORD = Pattern.compile("(?:[^\\s\"]|\"[^\"]*\"?)+");
    /** What {@code get_option} takes from the start of a text. */
    private static final Pattern NUMBER = Pattern.compile("0[xX]([0-9a-fA-F]+)|0([0-7]*)|([0-9]+)");

    private static final int HEX = 16;
    private static final int OCTAL = 8;
    private static final int DECIMAL = 10;

    private BootOptions() {}

    static void apply(String commandLine, DmaDebugOptions options) {
        Matcher words = WORD.matcher(commandLine);
        while (words.find()) {
            String word = words.group().replace("\"", "");
            if (word.equals("--")) {
                return;
            }
            int equals = word.indexOf('=');
            if (equals > 0) {
                applyOne(word.substring(0, equals).replace('-', '_'), word.substring(equals + 1), options);
            }
        }
    }

    private static void applyOne(String name, String value, DmaDebugOptions options) {
        switch (name) {
            case "dma_debug" -> {
                if (value.startsWith("off")) {
                    options.disable();
                }
            }
            case "dma_debug_entries" -> options.preallocate(entries(value));
            case "dma_debug_driver" -> options.filter(value);
            default -> {
                // another subsystem's
            }
        }
    }

    private static long entries(String value) {
        Matcher number = NUMBER.matcher(value);
        if (!number.lookingAt()) {
            return EntryPool.PREALLOCATED;
        }
        if (number.group(1) != null) {
            return number(number.group(1), HEX);
        }
        return number.group(2) != null ? number(number.group(2), OCTAL) : number(number.group(3), DECIMAL);
    }

    /** Larger ones than a machine could ever allocate are none; nothing after the octal 0 is 0. */
    private static long number(String digits, int radix) {
        if (digits.isEmpty()) {
            return 0;
        }
        try {
            return Integer.parseInt(digits, radix);
        } catch (NumberFormatException tooLarge) {
            return EntryPool.PREALLOCATED;
        }
    }
}
