package io.pagewalk.conformance;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A check that cannot fail is none: one value altered in a copy of a vector is seen, in every field, and named. */
class PlantedDisagreementTest {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    @TempDir
    private Path folder;

    @Test
    void anAlteredValueIsReportedWithLineInputExpectedAndGot() throws UnusableVectorsException {
        List<String> lines = new ArrayList<>(Vectors.shipped("swiotlb").subList(0, 4));
        assertThat(lines.get(2)).contains("\"id\":1,\"op\":\"unmap\"", "\"used\":0");
        lines.set(2, lines.get(2).replace("\"used\":0", "\"used\":7"));
        Path file = Vectors.write(folder, "altered.jsonl", lines);

        ConformanceResult result = Vectors.run(file);

        assertThat(result.ok()).isFalse();
        assertThat(result.failures()).isEqualTo(1);
        assertThat(result.families())
                .singleElement()
                .satisfies(f ->
                        assertThat(List.of(f.lines(), f.passed(), f.failed())).containsExactly(4L, 3L, 1L));
        assertThat(result.disagreements()).singleElement().satisfies(d -> {
            assertThat(d.file()).isEqualTo(file.toString());
            assertThat(d.line()).isEqualTo(3);
            assertThat(d.family()).isEqualTo("swiotlb");
            assertThat(d.boot()).isEqualTo("swiotlb_64m");
            assertThat(d.id()).isEqualTo("1");
            assertThat(d.input())
                    .isEqualTo("{\"fam\":\"swiotlb\",\"id\":1,\"op\":\"unmap\",\"h\":0,\"size\":1,\"dir\":2,"
                            + "\"attrs\":0,\"dev_wrote\":false}");
            assertThat(d.differences()).containsExactly(new FieldDifference("used", "7", "0", ""));
        });
    }

    /**
     * Adapters do not see answers, so that altering them disturbs nothing: of a whole file, those lines fail of which a
     * value was altered, and no others. Each line has another of its fields altered than the one before it.
     */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            swiotlb | 1500 | map: ret copied_in max_mapping need_sync used hiwater klog; unmap: orig_changed used hiwater; sync_for_cpu: orig_changed; sync_for_device: bounce_changed
            direct | 3028 | map_page: dma need_sync bounced pool_off used klog; map_resource: dma klog; map_sg: ret out used klog; map_sgtable: ret out nents used klog; alloc_coherent: nonzero_bytes; set_mask: ret mask_after coherent_ret coherent_after addressing_limited need_sync; set_mask_and_coherent: ret mask_after coherent_after addressing_limited max_mapping
            masks | 424 | set_mask: required_mask opt_mapping max_mapping
            edu | 50 | copy: src_dma dst_dma rc touched_before_unmap bad_bytes
            edu | 50 | copy: touched_after_sync; fault: dma ram_bytes_changed
            edu | 50 | fault: klog device_saw_page
            iova | 100 | script: ops tree max32 dma32_pfn cached cached32
            iommu_map_sg | 1288 | map_page: dma need_sync probe ptes after_unmap; map_sg: ret out probe ptes restored after_unmap dma0; map_sgtable: ret nents out probe ptes restored after_unmap dma0; unmap_page: after_unmap; map_resource: dma probe ptes; alloc_coherent: dma nonzero_bytes ptes
            iommu_live | 1368 | map_page: dma; map_sg: ret out
            iommu_untrusted | 421 | map_page: dma iova_to_phys pool_off copied_in pre_zero post_zero ptes used max_mapping; map_sg: ret out used; unmap: used
            umem | 1281 | find_best_pgsz: pgsz umem_iova num_blocks num_pages dma_offset blocks iterated; find_best_pgoff: pgsz umem_iova num_blocks num_pages dma_offset blocks iterated; rdma_for_each_block: blocks iterated; ib_sg_to_pages: ret mr_iova mr_length sg_offset_out pages
            rdma-rxe | 725 | reg_mr: rc errno err kernel_calls kernel_err vmpin_kb vmlck_kb pages_pinned pages_unpinned; dereg_mr: rc errno err kernel_err vmpin_kb vmlck_kb pages_pinned pages_unpinned; mlock: vmlck_kb; status: vmpin_kb; setrlimit: err; close_device: vmpin_kb; unshare: rc; capset: errno
            rdma-rxe | 535 | reg_mr: vmpin_kb_before
            rdma-rxe | 725 | dereg_mr: kernel_calls; mlock: rc; status: vmpin_kb_before; setrlimit: vmpin_kb; close_device: pages_unpinned; capset: rc
            rdma-rxe | 1040 | reg_mr: rkey; rereg_mr: rc errno rkey; dealloc_pd: rc errno; alloc_mw: rc errno; dealloc_mw: errno; destroy_cq: rc; advise_mr: rc; reg_dmabuf_mr: errno; bind_mw: wc rkey_after qp; BIND_MW: requester qp_requester qp_responder; RDMA_WRITE: post_err requester qp_requester qp_responder; RDMA_READ: requester qp_requester qp_responder; SEND: requester responder qp_responder; LOCAL_INV: requester; RDMA_WRITE_WITH_IMM: responder; ATOMIC_FETCH_AND_ADD: post_rc requester; ATOMIC_CMP_AND_SWP: requester; SEND_WITH_INV: responder; check: state match value data cpu byte
            iommu_fq | 6 | map_unmap_loop: iova_pfn
            iommu_api | 100 | script: ops leaves before_attach attach pgsize_bitmap aperture
            sg_alloc_append | 832 | from_pages_segment: ret nents orig_nents segs; append: calls
            masks | 1 | boot: required_mask
            masks | 1 | boot: max_seg_size
            masks | 1 | boot: seg_boundary
            masks | 1 | boot: coherent
            masks | 1 | boot: swiotlb
            edu | 1 | boot: domain_type
            edu | 1 | boot: pgsize_bitmap
            edu | 1 | boot: aperture
            edu | 1 | boot: force_aperture
            edu | 1 | boot: resv
            edu | 1 | boot: pt_levels
            edu | 1 | boot: merge_boundary
            iommu_live | 1368 | tables: live
            iommu_live | 1368 | tables: ptes
            iommu_untrusted | 130 | map_page: klog
            sg_alloc_append | 1 | boot: sg_max_single_alloc
            umem | 1 | boot: page_size
            """)
    void exactlyTheAlteredLinesFail(String name, int count, String fields)
            throws JsonProcessingException, UnusableVectorsException {
        Altered altered = new Altered(fields);
        List<String> shipped = Vectors.shipped(name);
        for (String text : shipped.subList(0, Math.min(count, shipped.size()))) {
            altered.line(text);
        }
        assertThat(altered.unused()).isEmpty();

        ConformanceResult result = Vectors.run(Vectors.write(folder, "altered.jsonl", altered.lines));

        assertThat(result.disagreements().stream().map(Disagreement::line))
                .containsExactlyElementsOf(altered.fieldOfLine.keySet());
        assertThat(result.disagreements())
                .allSatisfy(d -> assertThat(d.differences())
                        .anySatisfy(f -> assertThat(f.path()).startsWith(altered.fieldOfLine.get(d.line()))));
    }

    /** A file in which every line of some kinds has one of its fields altered, in turn. */
    private static final class Altered {
        private final Map<String, List<String>> fieldsOfKind = new TreeMap<>();
        private final List<String> lines = new ArrayList<>();
        private final Map<Integer, String> fieldOfLine = new TreeMap<>();
        private final Set<String> used = new TreeSet<>();
        private int next;

        Altered(String fields) {
            for (String kind : fields.split("; ", -1)) {
                String[] words = kind.split("[: ]+", -1);
                fieldsOfKind.put(words[0], List.of(words).subList(1, words.length));
            }
        }

        void line(String text) throws JsonProcessingException {
            ObjectNode line = (ObjectNode) MAPPER.readTree(text);
            String field = alterOne(line, fieldsOfKind.getOrDefault(kind(line), List.of()));
            lines.add(field == null ? text : line.toString());
            if (field != null) {
                fieldOfLine.put(lines.size(), field);
                used.add(kind(line) + " " + field);
            }
        }

        private @Nullable String alterOne(ObjectNode line, List<String> fields) {
            for (int tries = 0; tries < fields.size(); tries++) {
                String field = fields.get((next + tries) % fields.size());
                if (line.has(field) && alter(line, field)) {
                    next++;
                    return field;
                }
            }
            return null;
        }

        Set<String> unused() {
            Set<String> unused = new TreeSet<>();
            fieldsOfKind.forEach((kind, fields) -> fields.forEach(f -> unused.add(kind + " " + f)));
            unused.removeAll(used);
            return unused;
        }
    }

    private static String kind(JsonNode line) {
        String op = line.path("op").asText(line.path("fn").asText("script"));
        return line.has("type") ? line.get("type").asText() : op;
    }

    /** Alters one value of a field so that no rule can excuse it; tells whether there was one to alter. */
    private static boolean alter(ObjectNode parent, String field) {
        JsonNode value = parent.get(field);
        if (value.isArray()) {
            return alterElement((ArrayNode) value);
        }
        if (value.isObject()) {
            ObjectNode object = (ObjectNode) value;
            String last = "";
            for (var names = object.fieldNames(); names.hasNext(); ) {
                last = names.next();
            }
            return alter(object, last);
        }
        parent.set(field, other(value));
        return true;
    }

    /** Answers come last, in rows, in operations and in calls alike. */
    private static boolean alterElement(ArrayNode list) {
        for (int i = list.size() - 1; i >= 0; i--) {
            if (alterAt(list, i)) {
                return true;
            }
        }
        return false;
    }

    private static boolean alterAt(ArrayNode list, int i) {
        JsonNode value = list.get(i);
        if (value.isArray()) {
            boolean hasResult =
                    !value.path(0).isTextual() || "AGRQS".contains(value.get(0).asText());
            return hasResult && !value.isEmpty() && alterElement((ArrayNode) value);
        }
        if (value.isObject()) {
            ObjectNode object = (ObjectNode) value;
            String answer = Stream.of("ret", "leaves", "status")
                    .filter(object::has)
                    .findFirst()
                    .orElse("");
            return !answer.isEmpty() && alter(object, answer);
        }
        list.set(i, other(value));
        return true;
    }

    private static JsonNode other(JsonNode value) {
        if (value.isBoolean()) {
            return MAPPER.getNodeFactory().booleanNode(!value.booleanValue());
        }
        if (value.isIntegralNumber()) {
            BigInteger changed =
                    value.bigIntegerValue().flipBit(value.bigIntegerValue().bitLength() > 50 ? 1 : 50);
            return MAPPER.getNodeFactory().numberNode(changed);
        }
        if (value.isTextual()) {
            return MAPPER.getNodeFactory().textNode(otherText(value.asText()));
        }
        return MAPPER.getNodeFactory().numberNode(12345);
    }

    /** The function of a WARN, the last digit of a message, the first letter of anything else. */
    private static String otherText(String text) {
        if (text.startsWith("WARNING")) {
            return text.replaceFirst(" (\\w+)\\+0x", " x$1+0x");
        }
        return text.matches(".*[0-8].*") ? text.replaceFirst("[0-8](?!.*[0-8])", "9") : "x" + text;
    }
}
