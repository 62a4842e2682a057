package io.pagewalk.backends.boot;

/**
 * Reads unsigned integers with C's prefixes (0x for hexadecimal, 0 for octal) from the front of a text. Not
 * thread-safe.
 */
public final class CInteger {
    private final String text;
    private int at;

    /**
     * Makes a reader.
     *
     * @param text what to read, from its first character on
     */
    public CInteger(String text) {
        this.text = text;
    }

    /**
     * Whether an integer comes next.
     *
     * @return true at a decimal digit
     */
    public boolean atDigit() {
        return digitAt(at, 10) >= 0;
    }

    /**
     * Reads as many digits as the prefix allows.
     *
     * @return the integer, modulo 2^64
     */
    public long next() {
        int radix = radix();
        if (radix == 16) {
            at += 2;
        }
        long value = 0;
        for (int digit = digitAt(at, radix); digit >= 0; digit = digitAt(at, radix)) {
            value = value * radix + digit;
            at++;
        }
        return value;
    }

    private int radix() {
        if (text.charAt(at) != '0') {
            return 10;
        }
        boolean x = at + 1 < text.length() && (text.charAt(at + 1) | 0x20) == 'x';
        return x && digitAt(at + 2, 16) >= 0 ? 16 : 8;
    }

    private int digitAt(int index, int radix) {
        if (index >= text.length() || text.charAt(index) > 'f') {
            return -1;
        }
        return Character.digit(text.charAt(index), radix);
    }

    /**
     * Reads a size, {@code memparse}: an integer and at most one of the letters K, M, G, T, P and E.
     *
     * @return bytes, modulo 2^64; 0 when no digit comes next
     */
    public long nextSize() {
        long value = atDigit() ? next() : 0;
        int power = at < text.length() ? "KMGTPE".indexOf(Character.toUpperCase(text.charAt(at))) + 1 : 0;
        at += power > 0 ? 1 : 0;
        return value << (10 * power);
    }

    /** Steps over a comma, if one comes next. */
    public void skipComma() {
        if (at < text.length() && text.charAt(at) == ',') {
            at++;
        }
    }

    /**
     * What was not read.
     *
     * @return the rest of the text
     */
    public String rest() {
        return text.substring(at);
    }
}
