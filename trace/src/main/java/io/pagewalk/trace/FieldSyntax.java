package io.pagewalk.trace;

import io.pagewalk.dma.DmaDirection;
import java.util.StringJoiner;

/** The kinds of values inside an event that are more than a number: directions, attributes, lists. */
final class FieldSyntax {
    private static final DmaDirection[] DIRECTIONS = DmaDirection.values();
    private static final String[] ATTR_NAMES = {
        "",
        "WEAK_ORDERING",
        "WRITE_COMBINE",
        "",
        "NO_KERNEL_MAPPING",
        "SKIP_CPU_SYNC",
        "FORCE_CONTIGUOUS",
        "ALLOC_SINGLE_PAGES",
        "NO_WARN",
        "PRIVILEGED"
    };

    private FieldSyntax() {}

    static DmaDirection directionName(LineCursor cursor) throws LineFormatException {
        for (DmaDirection direction : DIRECTIONS) {
            if (cursor.accept(direction.name())) {
                return direction;
            }
        }
        throw cursor.expected("a DMA direction");
    }

    static DmaDirection directionNumber(LineCursor cursor) throws LineFormatException {
        int number = LineCursor.digit(cursor.peek());
        if (number < 0 || number >= DIRECTIONS.length) {
            throw cursor.expected("a DMA direction from 0 to 3");
        }
        cursor.moveTo(cursor.position() + 1);
        return DIRECTIONS[number];
    }

    /** Takes {@code 0} or {@code 1}. */
    static boolean flag(LineCursor cursor) throws LineFormatException {
        boolean set = cursor.accept("1");
        if (!set) {
            cursor.expect("0");
        }
        return set;
    }

    /** Takes attribute names joined by {@code |}, unknown bits in hexadecimal among them; nothing for none. */
    static long attrNames(LineCursor cursor) throws LineFormatException {
        if (cursor.atEnd() || cursor.peek() == ' ') {
            return 0;
        }
        long attrs = attrName(cursor);
        while (cursor.accept("|")) {
            attrs |= attrName(cursor);
        }
        return attrs;
    }

    private static long attrName(LineCursor cursor) throws LineFormatException {
        if (cursor.startsWith("0x")) {
            return cursor.hex();
        }
        for (int bit = 0; bit < ATTR_NAMES.length; bit++) {
            if (!ATTR_NAMES[bit].isEmpty() && cursor.accept(ATTR_NAMES[bit])) {
                return 1L << bit;
            }
        }
        throw cursor.expected("a DMA attribute");
    }

    /** Gives what {@link #attrNames} takes. */
    static String attrText(long attrs) {
        StringJoiner text = new StringJoiner("|");
        long left = attrs;
        for (int bit = 0; bit < ATTR_NAMES.length; bit++) {
            if ((left >>> bit & 1) != 0 && !ATTR_NAMES[bit].isEmpty()) {
                text.add(ATTR_NAMES[bit]);
                left &= ~(1L << bit);
            }
        }
        return (left == 0 ? text : text.add("0x" + Long.toHexString(left))).toString();
    }

    /** Takes <code>{0x1000,0x2000}</code>. */
    static long[] bracedList(LineCursor cursor) throws LineFormatException {
        cursor.expect("{");
        if (cursor.accept("}")) {
            return new long[0];
        }
        long[] values = new long[cursor.count(',', '}') + 1];
        for (int i = 0; i < values.length; i++) {
            cursor.expect(i == 0 ? "0x" : ",0x");
            values[i] = cursor.hex();
        }
        cursor.expect("}");
        return values;
    }

    /** Takes {@code ARRAY[00, 10, ...]}: the bytes of little-endian elements of the given size. */
    static long[] byteArray(LineCursor cursor, int elementBytes) throws LineFormatException {
        cursor.expect("ARRAY[");
        if (cursor.accept("]")) {
            return new long[0];
        }
        int bytes = cursor.count(',', ']') + 1;
        if (bytes % elementBytes != 0) {
            throw new LineFormatException(
                    "an ARRAY of " + bytes + " bytes is no list of " + elementBytes + "-byte values");
        }
        long[] values = new long[bytes / elementBytes];
        for (int i = 0; i < values.length; i++) {
            cursor.expect(i == 0 ? "" : ", ");
            values[i] = littleEndian(cursor, elementBytes);
        }
        cursor.expect("]");
        return values;
    }

    private static long littleEndian(LineCursor cursor, int bytes) throws LineFormatException {
        long value = cursor.hexByte();
        for (int bits = Byte.SIZE; bits < bytes * Byte.SIZE; bits += Byte.SIZE) {
            cursor.expect(", ");
            value |= (long) cursor.hexByte() << bits;
        }
        return value;
    }
}
