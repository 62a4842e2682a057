package io.pagewalk.trace.held;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pagewalk.dma.events.LiveRange;
import io.pagewalk.dma.events.OwnerAccount;
import io.pagewalk.dma.held.HeldRange;
import io.pagewalk.dma.held.HeldSection;
import io.pagewalk.dma.held.HeldSnapshot;
import io.pagewalk.dma.memory.Addresses;
import java.util.List;

/** A {@link HeldSnapshot} as JSON: addresses as hex texts, sizes as numbers, tables as objects by column. */
public final class HeldJson {
    private static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private HeldJson() {}

    /**
     * Writes a snapshot.
     *
     * @param held the snapshot
     * @return indented JSON; {@code ranges} and {@code owners} are absent when the machine has no ledger
     */
    public static String text(HeldSnapshot held) {
        ObjectNode root = MAPPER.createObjectNode();
        root.put("timeNanos", held.timeNanos());
        root.put("backend", held.backend());
        if (held.hasLedger()) {
            ArrayNode ranges = root.putArray("ranges");
            held.ranges().forEach(range -> put(ranges.addObject(), range));
            ArrayNode owners = root.putArray("owners");
            held.owners().forEach(account -> put(owners.addObject(), account));
        }
        ObjectNode metrics = root.putObject("metrics");
        held.metrics().forEach((metric, value) -> metrics.put(metric.name(), value));
        ObjectNode sections = root.putObject("sections");
        held.sections().forEach(section -> put(sections.withArray(section.name()), section));
        try {
            return MAPPER.writeValueAsString(root);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException("a tree of texts and numbers is JSON", impossible);
        }
    }

    private static void put(ObjectNode node, HeldRange range) {
        node.put("device", range.device());
        node.put("kind", range.kind().name());
        node.put("dmaAddr", Addresses.hex(range.dmaAddr()));
        node.put("sizeBytes", range.sizeBytes());
        node.put("direction", range.direction().name());
        if (range.physAddr() != LiveRange.UNKNOWN_PHYS_ADDR) {
            node.put("physAddr", Addresses.hex(range.physAddr()));
        }
        if (!range.owner().isEmpty()) {
            node.put("owner", range.owner());
        }
        node.put("sinceNanos", range.sinceNanos());
    }

    private static void put(ObjectNode node, OwnerAccount account) {
        node.put("owner", account.owner());
        node.put("mappings", account.mappings());
        node.put("mappedBytes", account.mappedBytes());
        node.put("allocations", account.allocations());
        node.put("allocatedBytes", account.allocatedBytes());
    }

    private static void put(ArrayNode rows, HeldSection section) {
        for (List<String> row : section.rows()) {
            ObjectNode node = rows.addObject();
            for (int i = 0; i < row.size(); i++) {
                node.put(section.columns().get(i), row.get(i));
            }
        }
    }
}
