package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.iommu.api.IommuDomainView;
import io.pagewalk.backends.iommu.api.LeafRun;
import io.pagewalk.backends.iommu.api.LiveMapping;
import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import java.util.stream.Collectors;

/** Writes domains down, for people and for programs. */
final class DomainDump {
    private static final char FIRST_PRINTABLE = ' ';

    private DomainDump() {}

    static String text(IommuDomainView domain, List<LiveMapping> mappings) {
        StringBuilder text = new StringBuilder(domain.type().sysfsName() + " domain");
        if (domain.type().isPaging()) {
            text.append(": page sizes ").append(Addresses.hex(domain.pageSizes()));
            text.append(", aperture ").append(Addresses.hex(domain.apertureStart()));
            text.append('-').append(Addresses.hex(domain.apertureEnd()));
            text.append(", table pages ").append(domain.tablePages());
        }
        text.append('\n');
        domain.leaves().forEach(run -> text.append("  ").append(run).append('\n'));
        mappings.forEach(mapping -> text.append("  mapping ").append(mapping).append('\n'));
        return text.toString();
    }

    static String json(IommuDomainView domain, List<LiveMapping> mappings) {
        return "{\"type\":" + quoted(domain.type().sysfsName())
                + ",\"pageSizes\":" + hex(domain.pageSizes())
                + ",\"aperture\":[" + hex(domain.apertureStart()) + "," + hex(domain.apertureEnd()) + "]"
                + ",\"tablePages\":" + domain.tablePages()
                + ",\"leaves\":["
                + domain.leaves().stream().map(DomainDump::leaf).collect(Collectors.joining(","))
                + "],\"mappings\":["
                + mappings.stream().map(DomainDump::mapping).collect(Collectors.joining(",")) + "]}";
    }

    private static String leaf(LeafRun run) {
        return "{\"iova\":" + hex(run.iova()) + ",\"phys\":" + hex(run.physAddr()) + ",\"leaf\":" + hex(run.leafBytes())
                + ",\"count\":" + run.count() + ",\"perm\":" + quoted(run.permText()) + "}";
    }

    private static String mapping(LiveMapping mapping) {
        return "{\"iova\":" + hex(mapping.iova()) + ",\"size\":" + hex(mapping.sizeBytes()) + ",\"phys\":"
                + hex(mapping.physAddr()) + ",\"owner\":" + quoted(mapping.owner()) + "}";
    }

    private static String hex(long value) {
        return quoted(Addresses.hex(value));
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        text.chars().forEach(c -> {
            if (c < FIRST_PRINTABLE || c > '~') {
                json.append(String.format("\\u%04x", c));
            } else if (c == '"' || c == '\\') {
                json.append('\\').append((char) c);
            } else {
                json.append((char) c);
            }
        });
        return json.append('"').toString();
    }
}
