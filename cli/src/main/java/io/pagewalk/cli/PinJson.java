package io.pagewalk.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.umem.MemlockBudget;
import io.pagewalk.rdma.umem.Preflight;
import java.io.IOException;
import java.io.PrintWriter;
import java.math.BigInteger;
import java.util.List;

/** What a preflight found, as JSON. Sizes are unsigned; a limit that is none is null. */
final class PinJson {
    private static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private PinJson() {}

    static void print(List<PinBuffer> buffers, Preflight preflight, PrintWriter out) throws IOException {
        MemlockBudget budget = preflight.before();
        ObjectNode root = MAPPER.createObjectNode();
        root.put("fits", preflight.fits());
        putLimit(root, "limitBytes", budget.limitBytes());
        root.put("capIpcLock", budget.capIpcLock());
        root.put("pinnedPagesBefore", budget.pinnedPages());
        root.put("pinnedPagesAfter", preflight.after().pinnedPages());
        putLimit(root, "neededLimitBytes", preflight.neededLimitBytes());
        putLimit(root, "neededLimitBytesAligned", preflight.neededLimitBytesAligned());
        ArrayNode list = root.putArray("buffers");
        for (int i = 0; i < buffers.size(); i++) {
            put(list.addObject(), buffers.get(i), preflight.outcomes().get(i));
        }
        out.println(MAPPER.writeValueAsString(root));
    }

    private static void put(ObjectNode node, PinBuffer buffer, Preflight.Outcome outcome) {
        node.put("buffer", buffer.text());
        node.put("sizeBytes", unsigned(outcome.request().sizeBytes()));
        node.put("count", outcome.request().count());
        node.put("pagesEach", unsigned(outcome.pagesEach()));
        node.put("alignedPagesEach", unsigned(outcome.alignedPagesEach()));
        node.put("fitting", outcome.fitting());
        node.put("pinnedPagesAfter", outcome.pinnedAfter());
        node.put("outcome", outcome.fits() ? "ok" : Errno.name(-outcome.errno()));
    }

    private static void putLimit(ObjectNode node, String name, long bytes) {
        if (bytes == MemlockBudget.UNLIMITED) {
            node.putNull(name);
        } else {
            node.put(name, unsigned(bytes));
        }
    }

    private static BigInteger unsigned(long value) {
        return new BigInteger(Long.toUnsignedString(value));
    }
}
