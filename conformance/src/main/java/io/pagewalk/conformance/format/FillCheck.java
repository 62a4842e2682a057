package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;

/*
 * The recording module looked for bytes of a certain value to see what a copy had changed. Its buffers held a period of 256
 * different bytes before, so that one byte in 256 had that value already. Which one is not in the line. What is certain is
 * the period: the first is below 256, all others follow at that distance, and none is left out.
 */
final class FillCheck {
    private static final int PERIOD = 256;
    private static final int TOUCHED_SHARE = 32;
    private static final int TOUCHED_SLACK = 8;

    private FillCheck() {}

    /** {@code [first, end, count]}; or, from the adapter, where its own fill has the byte: {@code {"phase": n}}. */
    static void changed(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
        if (got.isObject()) {
            long size = question.number("size");
            into.byRule(2);
            into.informative(Informative.FILL_PATTERN, 1);
            requirePeriod(path, expected, expected.path(0).asLong(), size, into);
            requirePeriod(path, got.path("changed"), got.path("phase").asLong(), size, into);
        } else {
            Checks.exact(path, expected, got, question, into);
        }
    }

    private static void requirePeriod(String path, JsonNode changed, long phase, long size, Comparison into) {
        long count = phase < size ? (size - 1 - phase) / PERIOD + 1 : 0;
        long end = phase + (count - 1) * PERIOD + 1;
        boolean none = isRow(changed, 0, 0, 0) && (count == 0 || size < PERIOD);
        if (!none && !(count > 0 && phase < PERIOD && isRow(changed, phase, end, count))) {
            into.differ(
                    path,
                    changed,
                    changed,
                    "one byte in 256 of " + size + " has the value looked for, from the first, below 256, on");
        }
    }

    private static boolean isRow(JsonNode row, long first, long end, long count) {
        return row.size() == 3
                && row.get(0).asLong() == first
                && row.get(1).asLong() == end
                && row.get(2).asLong() == count;
    }

    static void touched(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
        if (expected.isMissingNode() || got.isMissingNode()) {
            Checks.exact(path, expected, got, question, into);
            return;
        }
        into.byRule(1);
        long len = question.number("len");
        if (!isNoneOrNearlyAll(expected, len)
                || !isNoneOrNearlyAll(got, len)
                || (expected.asLong() == 0) != (got.asLong() == 0)) {
            into.differ(path, expected, got, "none, or all of " + len + " but those that were the same by chance");
        }
    }

    private static boolean isNoneOrNearlyAll(JsonNode touched, long len) {
        long same = len - touched.asLong();
        return touched.asLong() == 0 || (same >= 0 && same <= len / TOUCHED_SHARE + TOUCHED_SLACK);
    }
}
