package io.pagewalk.kit;

import java.util.Arrays;
import java.util.List;

/** Compares what somebody saw of a mapping with its model. */
final class ByteComparison {
    private ByteComparison() {}

    /** Throws an AssertionError that names the first byte that differs, and how many do. */
    static void require(String who, byte[] seen, byte[] expected, Segments segments, List<DmaExtent> extents) {
        int first = Arrays.mismatch(seen, expected);
        if (first >= 0) {
            throw new AssertionError(String.format(
                    "%s sees 0x%02x, not 0x%02x, in byte %d; %d of %d bytes are wrong in %s, mapped at %s",
                    who,
                    seen[first],
                    expected[first],
                    first,
                    countDifferent(seen, expected),
                    seen.length,
                    segments.buffers(),
                    extents));
        }
    }

    private static int countDifferent(byte[] seen, byte[] expected) {
        int count = 0;
        for (int i = 0; i < seen.length; i++) {
            count += seen[i] == expected[i] ? 0 : 1;
        }
        return count;
    }
}
