package io.pagewalk.conformance.format;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.ArrayList;
import java.util.List;

/** Compares what two kernels logged during one call. The recording holds the first three lines at most. */
final class LogCheck {
    private static final int RECORDED_LINES = 3;

    private LogCheck() {}

    static void check(String path, JsonNode expected, JsonNode got, Comparison into) {
        List<KernelText> library = library(path, got, into);
        int recorded = expected.isMissingNode() ? 0 : expected.size();
        for (int i = 0; i < recorded; i++) {
            String place = path + "[" + i + "]";
            KernelText wanted = KernelText.ofKernel(expected.get(i).asText());
            if (wanted == null) {
                into.differ(place, expected.get(i), got, "no kernel message of a known kind");
                continue;
            }
            into.byRule(1 + wanted.values().size());
            if (KernelText.namesDriver(expected.get(i).asText())) {
                into.informative(Informative.LABEL, 1);
            }
            if (wanted.places() != 0) {
                into.informative(Informative.WARN_PLACE, wanted.places());
            }
            if (i >= library.size() || !wanted.agrees(library.get(i))) {
                into.differ(place, expected.get(i), at(library, i), "the same event with the same numbers");
            }
        }
        if (library.size() > recorded && recorded < RECORDED_LINES) {
            into.differ(path, expected, at(library, recorded), "nothing else is logged");
        }
    }

    private static JsonNode at(List<KernelText> library, int index) {
        return TextNode.valueOf(index < library.size() ? library.get(index).toString() : "nothing more");
    }

    private static List<KernelText> library(String path, JsonNode got, Comparison into) {
        List<KernelText> texts = new ArrayList<>();
        for (JsonNode entry : got) {
            List<KernelText> shown = KernelText.ofLibrary(
                    entry.get(0).asText(),
                    entry.get(1).asBoolean(),
                    entry.get(2).asText());
            if (shown == null) {
                into.differ(path, TextNode.valueOf("a message of a known kind"), entry, "");
            } else {
                texts.addAll(shown);
            }
        }
        return texts;
    }
}
