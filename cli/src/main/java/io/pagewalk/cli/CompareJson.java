package io.pagewalk.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pagewalk.trace.replay.BackendResult;
import io.pagewalk.trace.replay.ReplayResult;
import java.io.IOException;
import java.nio.file.Path;

/** The comparison as JSON: every number of the result, named as in the result's types. */
final class CompareJson {
    static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private CompareJson() {}

    static void write(ReplayResult result, Path file) throws IOException {
        write(tree(result), file);
    }

    static void write(JsonNode tree, Path file) throws IOException {
        MAPPER.writeValue(file.toFile(), tree);
    }

    static ObjectNode tree(ReplayResult result) {
        ObjectNode root = MAPPER.createObjectNode();
        root.put("trace", result.traceName());
        root.put("content", result.content().name());
        root.put("ok", result.ok());
        root.put("touch", result.touch().name());
        root.put("cpus", result.cpus());
        root.put("timerCostNanos", result.timerCostNanos());
        root.set("summary", MAPPER.valueToTree(result.summary()));
        root.set("anomalies", MAPPER.valueToTree(result.anomalies()));
        ArrayNode devices = root.putArray("devices");
        result.devices()
                .forEach(d -> devices.addObject()
                        .put("name", d.name())
                        .put("mask", "0x" + Long.toHexString(d.mask()))
                        .put("maskSource", d.maskSource().name()));
        ArrayNode backends = root.putArray("backends");
        result.backends().forEach(b -> backends.add(backend(b)));
        return root;
    }

    private static ObjectNode backend(BackendResult backend) {
        ObjectNode node = MAPPER.valueToTree(backend);
        node.put("ok", backend.ok());
        return node;
    }
}
