package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/** Compares device addresses by how they lie to each other where a timer, or a page allocator, decides the rest. */
final class LayoutCheck {
    private static final String PLACED = "placed";
    private static final String BEYOND = "beyond";
    private static final String LAYOUT = "the same layout from the first page on";
    private static final BigInteger PAGE_BYTES = BigInteger.valueOf(4096);

    private LayoutCheck() {}

    /** Exactly, unless the answer says that its addresses are free to lie elsewhere. */
    static void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
        JsonNode placed = got.path(PLACED);
        if (placed.isMissingNode()) {
            Checks.exact(path, expected, got, question, into);
        } else if (placed.isArray() && expected.isArray()) {
            rows(path, expected, placed, got.path(BEYOND).asInt(-1), into);
        } else {
            address(path, expected, placed, into);
        }
    }

    private static void address(String path, JsonNode expected, JsonNode got, Comparison into) {
        into.byRule(1);
        into.informative(Informative.TIMER, 1);
        if (!expected.isIntegralNumber() || !inPage(expected).equals(inPage(got))) {
            into.differ(path, expected, got, "the same offset in its page");
        }
    }

    private static BigInteger inPage(JsonNode address) {
        return address.bigIntegerValue().mod(PAGE_BYTES);
    }

    private static void rows(String path, JsonNode expected, JsonNode got, int beyond, Comparison into) {
        into.byRule(Json.leaves(expected) - (beyond < 0 ? 0 : 1));
        if (!expected.isEmpty()) {
            into.informative(Informative.TIMER, beyond < 0 ? 1 : 2);
        }
        ArrayNode wanted = fromFirstPage(expected);
        ArrayNode found = fromFirstPage(got);
        if (beyond >= 0 && wanted.size() == found.size()) {
            ((ArrayNode) wanted.get(beyond)).remove(1);
            ((ArrayNode) found.get(beyond)).remove(1);
        }
        if (!Json.same(wanted, found)) {
            into.differ(path, wanted, found, LAYOUT);
        }
    }

    private static ArrayNode fromFirstPage(JsonNode rows) {
        ArrayNode moved = JsonNodeFactory.instance.arrayNode();
        BigInteger first = rows.isEmpty() ? BigInteger.ZERO : start(rows.get(0));
        BigInteger page = first.subtract(first.mod(PAGE_BYTES));
        for (JsonNode row : rows) {
            ArrayNode copy = moved.addArray();
            copy.add(start(row).subtract(page));
            for (int i = 1; i < row.size(); i++) {
                copy.add(row.get(i));
            }
        }
        return moved;
    }

    private static BigInteger start(JsonNode row) {
        return row.get(0).bigIntegerValue();
    }

    /** Runs of leaves joined where their device addresses meet: physical addresses and leaf sizes do not count. */
    static void coherentPages(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
        boolean placed = got.has(PLACED);
        JsonNode answered = placed ? got.get(PLACED) : got;
        if (!expected.isArray() || !answered.isArray()) {
            Checks.exact(path, expected, answered, question, into);
            return;
        }
        ArrayNode wanted = joined(expected);
        ArrayNode found = joined(answered);
        into.byRule(Json.leaves(wanted));
        into.informative(Informative.PAGE_ALLOCATOR, expected.size());
        if (placed ? !Json.same(fromFirstPage(wanted), fromFirstPage(found)) : !Json.same(wanted, found)) {
            into.differ(path, wanted, found, "the same device addresses with the same permissions");
        }
    }

    /** Rows of first address, bytes, permissions. */
    private static ArrayNode joined(JsonNode runs) {
        ArrayNode ranges = JsonNodeFactory.instance.arrayNode();
        BigInteger first = BigInteger.ZERO;
        BigInteger bytes = BigInteger.ZERO;
        JsonNode perm = null;
        for (JsonNode run : runs) {
            BigInteger length = run.get(2).bigIntegerValue().multiply(run.get(3).bigIntegerValue());
            if (perm != null && start(run).equals(first.add(bytes)) && Json.same(run.get(4), perm)) {
                bytes = bytes.add(length);
            } else {
                add(ranges, first, bytes, perm);
                first = start(run);
                bytes = length;
                perm = run.get(4);
            }
        }
        add(ranges, first, bytes, perm);
        return ranges;
    }

    private static void add(ArrayNode ranges, BigInteger first, BigInteger bytes, @Nullable JsonNode perm) {
        if (perm != null) {
            ranges.addArray().add(first).add(bytes).add(perm);
        }
    }
}
