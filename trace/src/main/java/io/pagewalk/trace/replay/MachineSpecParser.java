package io.pagewalk.trace.replay;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads the JSON of a {@link MachineSpec} field by field, so that every complaint names one. */
final class MachineSpecParser {
    private static final List<String> TOP =
            List.of("holes", "ramTop", "cpus", "swiotlb", "iommu", "devices", "drivers");
    private static final List<String> SWIOTLB = List.of("slots", "areas", "start");
    private static final List<String> IOMMU = List.of("widthBits", "reserved", "mode");
    private static final List<String> DEVICE =
            List.of("maskBits", "minAlignMask", "maxSegmentBytes", "segmentBoundaryMask", "coherent", "addressBits");
    private static final long U32 = 0xffff_ffffL;

    /* A quarter of a million slots more than swiotlb's largest pool makes sense of nothing: 1 GiB of 2 KiB slots. */
    private static final int MOST_SLOTS = 1 << 19;
    private static final int MOST_CPUS = 8192;

    private final String file;

    MachineSpecParser(String file) {
        this.file = file;
    }

    MachineSpec parse(String json) throws MachineSpecException {
        JsonNode root = tree(json);
        requireObject(root, "", TOP);
        MachineSpec byDefault = MachineSpec.DEFAULT;
        JsonNode swiotlb = section(root, "swiotlb", SWIOTLB);
        JsonNode iommu = section(root, "iommu", IOMMU);
        JsonNode cpus = present(root, "cpus");
        MachineFacts facts = facts(root, swiotlb, iommu);
        return new MachineSpec(
                root.has("holes") ? ranges(root.get("holes"), "holes") : byDefault.holes(),
                root.has("ramTop") ? number(root.get("ramTop"), "ramTop") : byDefault.ramTop(),
                cpus == null ? null : small(cpus, "cpus", 1, MOST_CPUS),
                or(facts.poolSlots(), byDefault.swiotlbSlots()),
                or(facts.poolAreas(), byDefault.swiotlbAreas()),
                or(facts.iommuWidthBits(), byDefault.iommuWidthBits()),
                facts.iommuReserved() == null ? byDefault.iommuReserved() : facts.iommuReserved(),
                devices(root.get("devices"), "devices"),
                facts);
    }

    private MachineFacts facts(JsonNode root, @Nullable JsonNode swiotlb, @Nullable JsonNode iommu)
            throws MachineSpecException {
        JsonNode start = swiotlb == null ? null : present(swiotlb, "start");
        JsonNode reserved = iommu == null ? null : present(iommu, "reserved");
        return new MachineFacts(
                start == null ? null : number(start, "swiotlb.start"),
                smallOrNull(swiotlb, "swiotlb", "slots", 1, MOST_SLOTS),
                smallOrNull(swiotlb, "swiotlb", "areas", 0, MOST_CPUS),
                iommu == null ? null : mode(present(iommu, "mode")),
                smallOrNull(iommu, "iommu", "widthBits", 30, 57),
                reserved == null ? null : ranges(reserved, "iommu.reserved"),
                devices(root.get("drivers"), "drivers"));
    }

    private MachineFacts.@Nullable IommuMode mode(@Nullable JsonNode node) throws MachineSpecException {
        if (node == null) {
            return null;
        }
        return switch (node.asText()) {
            case "off" -> MachineFacts.IommuMode.OFF;
            case "strict" -> MachineFacts.IommuMode.STRICT;
            case "lazy" -> MachineFacts.IommuMode.LAZY;
            default -> throw problem("iommu.mode", "must be \"off\", \"strict\" or \"lazy\", not " + node);
        };
    }

    private static int or(@Nullable Integer said, int otherwise) {
        return said == null ? otherwise : said;
    }

    private JsonNode tree(String json) throws MachineSpecException {
        try {
            return JsonMapper.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                    .build()
                    .readTree(json);
        } catch (JsonProcessingException wrong) {
            String where = wrong.getLocation() == null
                    ? ""
                    : " at line " + wrong.getLocation().getLineNr() + ", column "
                            + wrong.getLocation().getColumnNr();
            throw problem("", "not JSON" + where + ": " + wrong.getOriginalMessage());
        }
    }

    private Map<String, DeviceSpec> devices(@Nullable JsonNode node, String field) throws MachineSpecException {
        Map<String, DeviceSpec> devices = new LinkedHashMap<>();
        if (node == null) {
            return devices;
        }
        if (!node.isObject()) {
            throw problem(field, "must be an object of " + field + " by name, not " + node);
        }
        for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            devices.put(name, device(node.get(name), field + "." + name));
        }
        return devices;
    }

    private DeviceSpec device(JsonNode node, String path) throws MachineSpecException {
        requireObject(node, path, DEVICE);
        JsonNode coherent = present(node, "coherent");
        if (coherent != null && !coherent.isBoolean()) {
            throw problem(path + ".coherent", "must be true or false, not " + coherent);
        }
        return new DeviceSpec(
                bits(node, path, "maskBits"),
                word(node, path, "minAlignMask"),
                word(node, path, "maxSegmentBytes"),
                boundary(node, path),
                coherent == null ? null : coherent.booleanValue(),
                bits(node, path, "addressBits"));
    }

    private @Nullable Integer bits(JsonNode parent, String path, String field) throws MachineSpecException {
        JsonNode node = present(parent, field);
        return node == null ? null : small(node, path + "." + field, 1, 64);
    }

    private @Nullable Integer word(JsonNode parent, String path, String field) throws MachineSpecException {
        JsonNode node = present(parent, field);
        if (node == null) {
            return null;
        }
        long value = number(node, path + "." + field);
        if ((value & ~U32) != 0) {
            throw problem(path + "." + field, Addresses.hex(value) + " does not fit in 32 bits");
        }
        return (int) value;
    }

    private @Nullable Long boundary(JsonNode parent, String path) throws MachineSpecException {
        JsonNode node = present(parent, "segmentBoundaryMask");
        if (node == null) {
            return null;
        }
        long mask = number(node, path + ".segmentBoundaryMask");
        if ((mask & (mask + 1)) != 0) {
            throw problem(path + ".segmentBoundaryMask", Addresses.hex(mask) + " is not a power of two minus one");
        }
        return mask;
    }

    private @Nullable Integer smallOrNull(@Nullable JsonNode parent, String path, String field, int least, int most)
            throws MachineSpecException {
        JsonNode node = parent == null ? null : present(parent, field);
        return node == null ? null : small(node, path + "." + field, least, most);
    }

    private int small(JsonNode node, String path, int least, int most) throws MachineSpecException {
        long value = number(node, path);
        if (value < least || value > most) {
            throw problem(path, Long.toUnsignedString(value) + " is not between " + least + " and " + most);
        }
        return (int) value;
    }

    private List<PhysRange> ranges(JsonNode node, String path) throws MachineSpecException {
        if (!node.isArray()) {
            throw problem(path, "must be a list of [first, last], not " + node);
        }
        List<PhysRange> ranges = new ArrayList<>();
        for (int i = 0; i < node.size(); i++) {
            ranges.add(range(node.get(i), path + "[" + i + "]"));
        }
        return ranges;
    }

    private PhysRange range(JsonNode node, String path) throws MachineSpecException {
        if (!node.isArray() || node.size() != 2) {
            throw problem(path, "must be [first, last], not " + node);
        }
        long first = number(node.get(0), path);
        long last = number(node.get(1), path);
        if (Addresses.lessThan(last, first)) {
            throw problem(path, "ends at " + Addresses.hex(last) + ", before its start " + Addresses.hex(first));
        }
        return new PhysRange(first, last);
    }

    private long number(JsonNode node, String path) throws MachineSpecException {
        try {
            String text = node.isTextual() || node.isIntegralNumber() ? node.asText() : "";
            boolean hex = text.startsWith("0x") || text.startsWith("0X");
            return hex ? Long.parseUnsignedLong(text.substring(2), 16) : Long.parseUnsignedLong(text);
        } catch (NumberFormatException wrong) {
            throw problem(path, "must be a number like 4096 or \"0x1000\", not " + node);
        }
    }

    private @Nullable JsonNode section(JsonNode root, String name, List<String> known) throws MachineSpecException {
        JsonNode node = present(root, name);
        if (node != null) {
            requireObject(node, name, known);
        }
        return node;
    }

    private static @Nullable JsonNode present(JsonNode parent, String field) {
        return parent.get(field);
    }

    private void requireObject(JsonNode node, String path, List<String> known) throws MachineSpecException {
        if (!node.isObject()) {
            throw problem(path, "must be an object with " + known + ", not " + (node.isMissingNode() ? "empty" : node));
        }
        for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            if (!known.contains(name)) {
                throw problem(path.isEmpty() ? name : path + "." + name, "unknown field; known are " + known);
            }
        }
    }

    private MachineSpecException problem(String field, String text) {
        return new MachineSpecException(file, field, text);
    }
}
