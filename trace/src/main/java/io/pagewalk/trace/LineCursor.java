package io.pagewalk.trace;

import java.nio.charset.StandardCharsets;

/**
 * A position in the bytes of one line, and the steps a parser takes over them. A step that fails says what it expected
 * and at which column (from 1).
 */
final class LineCursor {
    private final TextInterner interner = new TextInterner();
    private byte[] buffer = new byte[0];
    private int start;
    private int end;
    private int at;

    /** Puts the cursor at the start of the line {@code buffer[start, end)}. */
    void reset(byte[] lineBuffer, int lineStart, int lineEnd) {
        buffer = lineBuffer;
        start = lineStart;
        end = lineEnd;
        at = lineStart;
    }

    int position() {
        return at;
    }

    void moveTo(int position) {
        at = position;
    }

    int start() {
        return start;
    }

    int end() {
        return end;
    }

    boolean atEnd() {
        return at == end;
    }

    /** Returns the byte at a position as 0 to 255, or -1 outside the line. */
    int byteAt(int position) {
        return position >= start && position < end ? buffer[position] & 0xff : -1;
    }

    int peek() {
        return byteAt(at);
    }

    void skipBlanks() {
        while (at < end && buffer[at] == ' ') {
            at++;
        }
    }

    /** Returns the first position from here on that holds the byte, or -1. */
    int find(char wanted) {
        for (int i = at; i < end; i++) {
            if (buffer[i] == wanted) {
                return i;
            }
        }
        return -1;
    }

    boolean startsWith(String literal) {
        int length = literal.length();
        if (length > end - at) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            if (buffer[at + i] != literal.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    boolean accept(String literal) {
        boolean accepted = startsWith(literal);
        if (accepted) {
            at += literal.length();
        }
        return accepted;
    }

    void expect(String literal) throws LineFormatException {
        if (!accept(literal)) {
            throw expected("'" + literal + "'");
        }
    }

    /** Takes the text before the next {@code stop}, at least a byte, and {@code stop} with it. */
    String textBefore(String stop) throws LineFormatException {
        int from = at;
        skipPast(stop);
        int to = at - stop.length();
        if (to == from) {
            at = from;
            throw expected("a text before '" + stop + "'");
        }
        return text(from, to);
    }

    private void skipPast(String stop) throws LineFormatException {
        int from = at;
        while (at < end && !startsWith(stop)) {
            at++;
        }
        if (at == end) {
            at = from;
            throw expected("'" + stop + "' somewhere");
        }
        at += stop.length();
    }

    /** Takes a non-empty word: all up to the next blank or the end. */
    String word() throws LineFormatException {
        int from = at;
        while (at < end && buffer[at] != ' ') {
            at++;
        }
        if (at == from) {
            throw expected("a word");
        }
        return text(from, at);
    }

    /** Takes the text up to the end of the line, at least a byte, without blanks at its end. */
    String lastText() throws LineFormatException {
        int to = end;
        while (to > at && buffer[to - 1] == ' ') {
            to--;
        }
        if (to == at) {
            throw expected("a text");
        }
        String text = text(at, to);
        at = end;
        return text;
    }

    /** Takes all that is left, as it is. */
    String rest() {
        int from = at;
        at = end;
        return text(from, end);
    }

    String text(int from, int to) {
        return interner.text(buffer, from, to);
    }

    /** Takes an unsigned hexadecimal number of 64 bits, with or without {@code 0x}. */
    long hex() throws LineFormatException {
        accept("0x");
        int from = at;
        long value = 0;
        for (int digit = hexDigit(peek()); digit >= 0; digit = hexDigit(peek())) {
            if (value >>> 60 != 0) {
                throw expected("a hexadecimal number of at most 64 bits");
            }
            value = (value << 4) | digit;
            at++;
        }
        if (at == from) {
            throw expected("a hexadecimal number");
        }
        return value;
    }

    /** Takes an unsigned decimal number of 64 bits. */
    long decimal() throws LineFormatException {
        int from = at;
        long value = 0;
        for (int digit = digit(peek()); digit >= 0; digit = digit(peek())) {
            if (overflows(value, digit)) {
                throw expected("a decimal number of at most 64 bits");
            }
            value = value * 10 + digit;
            at++;
        }
        if (at == from) {
            throw expected("a decimal number");
        }
        return value;
    }

    private static boolean overflows(long value, int digit) {
        long most = Long.divideUnsigned(-1L, 10);
        return Long.compareUnsigned(value, most) > 0 || (value == most && digit > 5);
    }

    /** Takes a decimal number of 0 to 2^63 - 1. */
    long count() throws LineFormatException {
        int from = at;
        long value = decimal();
        if (value < 0) {
            at = from;
            throw expected("a number below 2^63");
        }
        return value;
    }

    /** Takes a hexadecimal number of 32 bits. */
    int hexInt() throws LineFormatException {
        int from = at;
        long value = hex();
        if (value >>> Integer.SIZE != 0) {
            at = from;
            throw expected("a hexadecimal number of at most 32 bits");
        }
        return (int) value;
    }

    /** Takes a decimal number of 0 to 2147483647. */
    int smallDecimal() throws LineFormatException {
        int from = at;
        long value = decimal();
        if (value < 0 || value > Integer.MAX_VALUE) {
            at = from;
            throw expected("a number below 2147483648");
        }
        return (int) value;
    }

    /** Takes a decimal number of -2147483647 to 2147483647. */
    int signedDecimal() throws LineFormatException {
        boolean negative = accept("-");
        int value = smallDecimal();
        return negative ? -value : value;
    }

    /** Takes two hexadecimal digits. */
    int hexByte() throws LineFormatException {
        int high = hexDigit(peek());
        int low = hexDigit(byteAt(at + 1));
        if (high < 0 || low < 0) {
            throw expected("two hexadecimal digits");
        }
        at += 2;
        return (high << 4) | low;
    }

    /** Counts a byte from here up to the next {@code close} (or the end), without moving. */
    int count(char wanted, char close) {
        int count = 0;
        for (int i = at; i < end && buffer[i] != close; i++) {
            if (buffer[i] == wanted) {
                count++;
            }
        }
        return count;
    }

    /** Checks that nothing but blanks is left. */
    void finish() throws LineFormatException {
        skipBlanks();
        if (at != end) {
            throw expected("the end of the line");
        }
    }

    LineFormatException expected(String what) {
        int shownEnd = Math.min(end, at + 20);
        String found = at == end
                ? "the line ends"
                : "found '" + new String(buffer, at, shownEnd - at, StandardCharsets.UTF_8) + "'";
        return new LineFormatException("expected " + what + " at column " + (at - start + 1) + ", " + found);
    }

    static int digit(int character) {
        return character >= '0' && character <= '9' ? character - '0' : -1;
    }

    private static int hexDigit(int character) {
        if (character >= 'a' && character <= 'f') {
            return character - 'a' + 10;
        }
        return digit(character);
    }
}
