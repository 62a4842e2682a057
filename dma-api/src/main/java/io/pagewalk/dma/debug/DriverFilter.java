package io.pagewalk.dma.debug;

import org.jspecify.annotations.Nullable;

/**
 * Whose reports are shown: those of one driver, or all.
 *
 * <p>Implements dma-core:DBG-8, DBG-75. Not thread-safe.
 */
final class DriverFilter {
    private static final int NAME_MAX = 63;

    private String name;
    private @Nullable String cached;

    DriverFilter(String name) {
        this.name = cut(name);
    }

    boolean passes(@Nullable DebugDevice device) {
        if (name.isEmpty()) {
            return true;
        }
        String driver = device == null ? null : device.driver();
        if (driver == null) {
            return false;
        }
        if (cached == null && cut(driver).equals(name)) {
            cached = driver;
        }
        return driver.equals(cached);
    }

    /** What is written to the file {@code driver_filter}. */
    void write(String text) {
        cached = null;
        name = token(cut(text));
    }

    private static String token(String text) {
        if (text.isEmpty() || !isAlphanumeric(text.charAt(0))) {
            return "";
        }
        int end = 0;
        while (end < text.length() && !Character.isWhitespace(text.charAt(end))) {
            end++;
        }
        return text.substring(0, end);
    }

    private static boolean isAlphanumeric(char c) {
        return c < 0x80 && Character.isLetterOrDigit(c);
    }

    private static String cut(String text) {
        return text.substring(0, Math.min(text.length(), NAME_MAX));
    }

    String name() {
        return name;
    }
}
