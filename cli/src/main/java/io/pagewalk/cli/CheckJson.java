package io.pagewalk.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pagewalk.dma.debug.DebugMapping;
import io.pagewalk.dma.debug.DebugRef;
import io.pagewalk.dma.debug.DmaDebugReport;
import io.pagewalk.dma.debug.EndedMapping;
import io.pagewalk.dma.debug.NearMapping;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.trace.check.CheckResult;
import java.io.IOException;
import java.io.PrintWriter;
import org.jspecify.annotations.Nullable;

/** What dma-debug found in a trace, as JSON: addresses as hexadecimal text, sizes as numbers. */
final class CheckJson {
    private static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private CheckJson() {}

    static void print(CheckResult result, PrintWriter out) throws IOException {
        ObjectNode root = MAPPER.createObjectNode();
        root.put("ok", result.ok());
        root.put("trace", result.traceName());
        root.put("calls", result.calls());
        root.put("reportCount", result.reportCount());
        root.set("counts", MAPPER.valueToTree(result.counts()));
        root.set("notes", MAPPER.valueToTree(result.notes()));
        root.put("live", result.live().size());
        ArrayNode reports = root.putArray("reports");
        result.reports().forEach(report -> reports.add(report(report)));
        out.println(MAPPER.writeValueAsString(root));
    }

    private static ObjectNode report(DmaDebugReport report) {
        ObjectNode node = MAPPER.createObjectNode();
        node.put("number", report.number());
        node.put("kind", report.kind().name());
        node.put("device", report.device() == null ? null : report.device().name());
        node.put("cpu", report.caller().cpu());
        node.put("timeNanos", report.caller().timeNanos());
        node.put("owner", report.caller().owner());
        node.put("site", report.caller().site());
        node.put("text", report.kernelText());
        node.set("call", ref(report.ref()));
        node.set("mapping", mapping(report.mapping()));
        node.set("nearest", near(report.near()));
        node.set("lastUnmap", ended(report.lastUnmap()));
        return node;
    }

    private static @Nullable ObjectNode ref(@Nullable DebugRef ref) {
        if (ref == null) {
            return null;
        }
        ObjectNode node = MAPPER.createObjectNode();
        node.put("type", ref.type().kernelName());
        node.put("dmaAddr", Addresses.hex(ref.dmaAddr()));
        node.put("sizeBytes", ref.sizeBytes());
        node.put("direction", ref.direction().name());
        node.put("entries", ref.callEnts());
        return node;
    }

    private static @Nullable ObjectNode mapping(@Nullable DebugMapping mapping) {
        if (mapping == null) {
            return null;
        }
        ObjectNode node = MAPPER.createObjectNode();
        node.put("type", mapping.type().kernelName());
        node.put("dmaAddr", Addresses.hex(mapping.dmaAddr()));
        node.put("sizeBytes", mapping.sizeBytes());
        node.put("direction", mapping.direction().name());
        node.put("physAddr", Addresses.hex(mapping.physAddr()));
        node.put("entries", mapping.callEnts());
        node.put("owner", mapping.owner());
        node.put("site", mapping.site());
        node.put("sinceNanos", mapping.sinceNanos());
        return node;
    }

    private static @Nullable ObjectNode near(@Nullable NearMapping near) {
        ObjectNode node = near == null ? null : mapping(near.mapping());
        if (near != null && node != null) {
            node.put("position", near.position().name());
            node.put("distanceBytes", near.distanceBytes());
        }
        return node;
    }

    private static @Nullable ObjectNode ended(@Nullable EndedMapping ended) {
        ObjectNode node = ended == null ? null : mapping(ended.mapping());
        if (ended != null && node != null) {
            node.put("endedNanos", ended.atNanos());
            node.put("endedBy", ended.owner());
            node.put("endedAt", ended.site());
        }
        return node;
    }
}
