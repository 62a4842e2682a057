package io.pagewalk.trace;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Turns bytes into strings, handing out the same string for the few texts that come again and again (tasks, devices,
 * flags, event names). A direct-mapped cache: a newcomer takes the slot of an older text, so memory stays bounded.
 */
final class TextInterner {
    private static final int SLOTS = 1024;
    private static final int LONGEST_KEPT = 64;

    private final byte[][] keys = new byte[SLOTS][];
    private final @Nullable String[] texts = new @Nullable String[SLOTS];

    String text(byte[] buffer, int from, int to) {
        if (to - from > LONGEST_KEPT) {
            return decode(buffer, from, to);
        }
        int slot = slotOf(buffer, from, to);
        byte[] key = keys[slot];
        String text = texts[slot];
        if (text != null && Arrays.equals(key, 0, key.length, buffer, from, to)) {
            return text;
        }
        return keep(slot, buffer, from, to);
    }

    private String keep(int slot, byte[] buffer, int from, int to) {
        String text = decode(buffer, from, to);
        keys[slot] = Arrays.copyOfRange(buffer, from, to);
        texts[slot] = text;
        return text;
    }

    private static int slotOf(byte[] buffer, int from, int to) {
        int hash = 0;
        for (int i = from; i < to; i++) {
            hash = 31 * hash + buffer[i];
        }
        return (hash ^ (hash >>> 10) ^ (hash >>> 20)) & (SLOTS - 1);
    }

    private static String decode(byte[] buffer, int from, int to) {
        return new String(buffer, from, to - from, StandardCharsets.UTF_8);
    }
}
