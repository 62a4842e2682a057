package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import io.pagewalk.dma.memory.Addresses;
import java.math.BigInteger;

/** Coherent memory lies where a page allocator put it; what is certain is how far up it may be. */
final class ReachCheck {
    private ReachCheck() {}

    static void check(String path, JsonNode expected, JsonNode got, Question question, Comparison into) {
        into.byRule(1);
        if (expected.isNull() || !expected.isIntegralNumber()) {
            if (!Json.same(expected, got)) {
                into.differ(path, expected, got, "memory on both sides or on neither");
            }
            return;
        }
        into.informative(Informative.PAGE_ALLOCATOR, 1);
        BigInteger limit =
                Json.unsigned(Addresses.minNotZero(question.number("coherent_mask"), question.number("bus_limit")));
        BigInteger lastOffset = Json.unsigned(question.number("size")).subtract(BigInteger.ONE);
        if (!got.isIntegralNumber()
                || got.bigIntegerValue().add(lastOffset).compareTo(limit) > 0
                || expected.bigIntegerValue().add(lastOffset).compareTo(limit) > 0) {
            into.differ(path, expected, got, "all of it within mask and bus limit");
        }
    }
}
