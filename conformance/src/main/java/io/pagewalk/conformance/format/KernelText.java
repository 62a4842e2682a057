package io.pagewalk.conformance.format;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a line of the kernel's log says, apart from its wording: an event and its values. The library's log has its own
 * words and gives one entry for a message and the WARN around it; {@link #ofLibrary} takes both apart alike.
 *
 * @param event what happened
 * @param values who it happened to and the numbers, or for a WARN the function
 * @param places numbers that only tell where in the kernel's source it stands
 */
record KernelText(String event, List<String> values, int places) {
    private static final String DEVICE = "(?:\\S+ )?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-9a-f]): ";
    private static final Pattern OVERFLOW = Pattern.compile(DEVICE
            + "(DMA|swiotlb) addr 0x([0-9a-f]+)\\+(\\d+) overflow \\(mask ([0-9a-f]+), bus limit ([0-9a-f]+)\\)\\.");
    private static final Pattern OUT_OF_REACH = Pattern.compile(
            DEVICE
                    + "(\\w+) address 0x([0-9a-f]+)\\+(\\d+) is out of reach \\(mask 0x([0-9a-f]+), bus limit 0x([0-9a-f]+)\\).*");
    private static final Pattern FULL = Pattern.compile(DEVICE
            + "swiotlb buffer is full \\(sz: (\\d+) bytes\\), total (\\d+) \\(slots\\), used (\\d+) \\(slots\\)");
    private static final Pattern ALIGNMENT = Pattern.compile(DEVICE + "Unsupported alignment constraint");
    private static final Pattern WIDTH =
            Pattern.compile("(?:DMAR: )?intel_iommu_map: iommu width \\((\\d+)\\) is not sufficient"
                    + " for the mapped address \\(([0-9a-f]+)\\)");
    private static final Pattern UNALIGNED = Pattern.compile(
            "(?:iommu: )?unaligned: iova 0x([0-9a-f]+)(?: pa 0x0*([0-9a-f]+))? size 0x([0-9a-f]+) min_pagesz 0x([0-9a-f]+)");
    private static final Pattern ALREADY_SET = Pattern.compile(
            "(?:DMAR: )?ERROR: DMA PTE for vPFN 0x([0-9a-f]+) already set \\(to ([0-9a-f]+) not ([0-9a-f]+)\\)");
    private static final Pattern FAULT_STATUS =
            Pattern.compile("(?:DMAR: )?DRHD: handling fault status reg ([0-9a-f]+)");
    private static final Pattern FAULT =
            Pattern.compile("(?:DMAR: )?\\[DMA (Read|Write) NO_PASID\\] Request device \\[(\\S+)\\]"
                    + " fault addr 0x([0-9a-f]+) \\[fault reason 0x([0-9a-f]+)\\] (.*)");
    private static final Pattern WARNING =
            Pattern.compile("WARNING: at (\\S+):(\\d+) (\\w+)\\+0x[0-9a-f]+/0x[0-9a-f]+");

    private static final Map<String, Pattern> ALIKE = Map.of(
            "swiotlb full", FULL,
            "alignment", ALIGNMENT,
            "too wide", WIDTH,
            "unaligned", UNALIGNED,
            "entry already set", ALREADY_SET,
            "fault status", FAULT_STATUS,
            "fault", FAULT);

    /** A driver's name before its device's, of which the library knows nothing. */
    private static final Pattern NAMED_DRIVER =
            Pattern.compile("\\S+ [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-9a-f]: .*");

    /** File and line, offset and length: all that a WARN header has besides the function. */
    private static final int WARN_PLACES = 4;

    /** Takes a line of the kernel's log apart; null when it is of no known kind. */
    static @Nullable KernelText ofKernel(String text) {
        Matcher overflow = OVERFLOW.matcher(text);
        if (overflow.matches()) {
            return overflow(overflow);
        }
        Matcher warning = WARNING.matcher(text);
        if (warning.matches()) {
            return warning(warning.group(3), WARN_PLACES);
        }
        return ofEither(text);
    }

    /** Whether a line of the kernel's log begins with the name of a driver. */
    static boolean namesDriver(String text) {
        return NAMED_DRIVER.matcher(text).matches();
    }

    private static KernelText overflow(Matcher m) {
        String what = m.group(2).equals("swiotlb") || m.group(2).equals("bounce") ? "bounce" : "DMA";
        return new KernelText(
                what + " address overflow",
                List.of(m.group(1), hex(m.group(3)), m.group(4), hex(m.group(5)), hex(m.group(6))),
                0);
    }

    private static String hex(String digits) {
        return Long.toHexString(Long.parseUnsignedLong(digits, 16));
    }

    private static KernelText warning(String function, int places) {
        return new KernelText("WARNING", List.of(function), places);
    }

    /** Texts that both sides word alike. */
    private static @Nullable KernelText ofEither(String text) {
        KernelText found = null;
        for (Map.Entry<String, Pattern> alike : ALIKE.entrySet()) {
            Matcher m = alike.getValue().matcher(text);
            if (m.matches()) {
                found = new KernelText(alike.getKey(), groups(m), 0);
            }
        }
        return found;
    }

    private static List<String> groups(Matcher m) {
        List<String> groups = new ArrayList<>();
        for (int i = 1; i <= m.groupCount(); i++) {
            groups.add(String.valueOf(m.group(i)));
        }
        return groups;
    }

    /** What the kernel's log would show of an entry of the library's; null when the entry is of no known kind. */
    static @Nullable List<KernelText> ofLibrary(String site, boolean warning, String text) {
        return switch (site) {
            case "dma_direct_map_page: overflow" -> messageAndWarning(text, "dma_map_page_attrs");
            case "dma_direct_map_sg: overflow" -> messageAndWarning(text, "dma_direct_map_sg");
            case "swiotlb_map: overflow" -> messageAndWarning(text, "swiotlb_map");
            case "dma_direct_map_resource: overflow" -> message(text);
            case "dma_direct_map_resource" -> List.of(warning("dma_direct_map_resource", 0));
            case "iommu_dma_map: alignment" -> warning ? List.of(warning("__iommu_dma_map", 0)) : message(text);
            case "swiotlb_tbl_map_single: full", "vtd.width", "iommu", "dmar_fault" -> message(text);
            case "vtd.pte-already-set" -> messageAndWarning(text, "intel_iommu_map_pages");
            // A notice, which the recording's filter of telling words drops.
            case "iommu_dma_alloc_iova" -> List.of();
            default -> null;
        };
    }

    private static @Nullable List<KernelText> messageAndWarning(String text, String function) {
        List<KernelText> message = message(text);
        if (message == null) {
            return null;
        }
        List<KernelText> both = new ArrayList<>(message);
        both.add(warning(function, 0));
        return both;
    }

    private static @Nullable List<KernelText> message(String text) {
        Matcher reach = OUT_OF_REACH.matcher(text);
        KernelText message = reach.matches() ? overflow(reach) : ofEither(text);
        return message == null ? null : List.of(message);
    }

    /** Whether it is the same event with the same values. */
    boolean agrees(KernelText other) {
        return event.equals(other.event) && values.equals(other.values);
    }

    @Override
    public String toString() {
        return event + " " + String.join(" ", values);
    }
}
