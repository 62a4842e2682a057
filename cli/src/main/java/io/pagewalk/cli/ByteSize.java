package io.pagewalk.cli;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number of bytes as people write it: decimal or hexadecimal, with K, M, G or T, or KiB, kB and so on, for powers of
 * 1,024.
 */
final class ByteSize {
    private static final Pattern FORM = Pattern.compile("(0[xX][0-9a-fA-F]+|[0-9]+)(?:([kKmMgGtT])(?:i?[bB])?|[bB])?");
    private static final String UNITS = "KMGT";
    private static final int BITS_PER_UNIT = 10;

    private ByteSize() {}

    /**
     * Reads a size or an address.
     *
     * @throws NumberFormatException when the text is no such number or exceeds 64 bits
     */
    static long parse(String text) {
        Matcher m = FORM.matcher(text);
        if (!m.matches()) {
            throw new NumberFormatException("'" + text + "' is no number of bytes, such as 4096, 0x1000 or 64K");
        }
        String digits = m.group(1);
        boolean isHex = digits.startsWith("0x") || digits.startsWith("0X");
        String unit = m.group(2);
        int shift = unit == null ? 0 : BITS_PER_UNIT * (UNITS.indexOf(unit.toUpperCase(Locale.ROOT)) + 1);
        try {
            long number = Long.parseUnsignedLong(isHex ? digits.substring(2) : digits, isHex ? 16 : 10);
            if (number << shift >>> shift != number) {
                throw new NumberFormatException();
            }
            return number << shift;
        } catch (NumberFormatException tooLarge) {
            throw new NumberFormatException("'" + text + "' is 2^64 or more");
        }
    }

    /** Writes a size for people: with thousands, and in the largest unit that divides it. */
    static String text(long sizeBytes) {
        int unit = Math.min(Long.numberOfTrailingZeros(sizeBytes) / BITS_PER_UNIT, UNITS.length());
        String bytes = Long.toUnsignedString(sizeBytes).replaceAll("(?<=\\d)(?=(\\d{3})+$)", ",") + " bytes";
        return sizeBytes == 0 || unit == 0
                ? bytes
                : bytes + " (" + Long.toUnsignedString(sizeBytes >>> (BITS_PER_UNIT * unit)) + " "
                        + UNITS.charAt(unit - 1) + "iB)";
    }
}
