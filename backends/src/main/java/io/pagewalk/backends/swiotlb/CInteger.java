package io.pagewalk.backends.swiotlb;

/** Reads unsigned integers with C's prefixes (0x for hexadecimal, 0 for octal) from the front of a text. */
final class CInteger {
    private final String text;
    private int at;

    CInteger(String text) {
        this.text = text;
    }

    boolean atDigit() {
        return digitAt(at, 10) >= 0;
    }

    /** Reads as many digits as the prefix allows, modulo 2^64. */
    long next() {
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

    void skipComma() {
        if (at < text.length() && text.charAt(at) == ',') {
            at++;
        }
    }

    String rest() {
        return text.substring(at);
    }
}
