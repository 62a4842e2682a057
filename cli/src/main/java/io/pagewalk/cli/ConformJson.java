package io.pagewalk.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pagewalk.conformance.ConformanceResult;
import java.io.IOException;
import java.io.PrintWriter;

/** What a conformance run found, as JSON: every number of the result, named as in the result's types. */
final class ConformJson {
    private static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private ConformJson() {}

    static void print(ConformanceResult result, PrintWriter out) throws IOException {
        ObjectNode root = MAPPER.createObjectNode();
        root.put("ok", result.ok());
        root.put("failures", result.failures());
        root.set("families", MAPPER.valueToTree(result.families()));
        root.set("pending", MAPPER.valueToTree(result.pending()));
        root.set("disagreements", MAPPER.valueToTree(result.disagreements()));
        out.println(MAPPER.writeValueAsString(root));
    }
}
