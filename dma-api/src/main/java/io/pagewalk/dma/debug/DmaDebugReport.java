package io.pagewalk.dma.debug;

import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One thing that dma-debug found. Immutable.
 *
 * @param number counts reports from 1
 * @param kind what it is
 * @param caller who made the call that showed it
 * @param fields the kernel's fields in its order
 * @param ref what the call said, or null where it said nothing of a mapping
 * @param mapping the mapping that was found, or that is left; or null
 * @param near the live mapping nearest to the address, where none was found there; of a shared cacheline the one that
 *     has it; or null
 * @param lastUnmap the mapping that was unmapped at that address last, where none was found there; or null
 * @param shown whether the kernel would have printed it (dma-core:DBG-7)
 */
public record DmaDebugReport(
        long number,
        DmaDebugKind kind,
        Caller caller,
        List<ReportField> fields,
        @Nullable DebugRef ref,
        @Nullable DebugMapping mapping,
        @Nullable NearMapping near,
        @Nullable EndedMapping lastUnmap,
        boolean shown) {
    /** How many fields of a leak stand before the kernel's line break: the count. */
    private static final int FIELDS_OF_FIRST_LINE = 1;

    /**
     * Copies the fields.
     *
     * @param number counts reports from 1
     * @param kind what it is
     * @param caller who made the call that showed it
     * @param fields the kernel's fields in its order
     * @param ref what the call said, or null
     * @param mapping the mapping that was found, or that is left; or null
     * @param near the live mapping nearest to the address, or null
     * @param lastUnmap the mapping that was unmapped at that address last, or null
     * @param shown whether the kernel would have printed it
     */
    public DmaDebugReport {
        fields = List.copyOf(fields);
    }

    /**
     * The device it is about.
     *
     * @return that of the call, else that of the mapping, else null
     */
    public @Nullable DebugDevice device() {
        if (caller.device() != null) {
            return caller.device();
        }
        return mapping == null ? null : mapping.device();
    }

    /**
     * What the kernel prints, without its line break.
     *
     * @return {@code DMA-API: }, driver and device, text and fields
     */
    public String kernelText() {
        return prefix() + kind.text() + fieldText();
    }

    private String prefix() {
        DebugDevice device = device();
        if (device == null) {
            return "DMA-API: NULL NULL: ";
        }
        String driver = device.driverString();
        return "DMA-API: " + (driver.isEmpty() ? "" : driver + " ") + device.name() + ": ";
    }

    private String fieldText() {
        return switch (kind) {
            case CACHELINE_EXCEEDED -> " " + fields.get(0).text();
            case MAP_ERROR_NOT_CHECKED -> bracketed(fields); // the kernel has no space there
            case LEAK ->
                " " + bracketed(fields.subList(0, FIELDS_OF_FIRST_LINE))
                        + " One of leaked entries details: "
                        + bracketed(fields.subList(FIELDS_OF_FIRST_LINE, fields.size()));
            default -> fields.isEmpty() ? "" : " " + bracketed(fields);
        };
    }

    private static String bracketed(List<ReportField> fields) {
        return fields.stream().map(f -> "[" + f.label() + f.text() + "]").collect(Collectors.joining(" "));
    }

    /**
     * All of it on one line: what the kernel prints, where the call was made, and what the kernel cannot say.
     *
     * @return the line
     */
    public String line() {
        StringBuilder line = new StringBuilder(kernelText());
        if (mapping != null && isMappingWorthSaying()) {
            line.append("; it is ").append(mapping.describe());
        }
        if (near != null) {
            line.append("; ").append(near.describe());
        }
        if (lastUnmap != null) {
            line.append("; last there: ").append(lastUnmap.describe(caller.timeNanos()));
        }
        return line.append(place()).toString();
    }

    private boolean isMappingWorthSaying() {
        return mapping != null && (mapping.owner() != null || mapping.site() != null || fields.isEmpty());
    }

    private String place() {
        String owner = caller.owner() == null ? "" : " by " + caller.owner();
        String site = caller.site() == null ? "" : " at " + caller.site();
        return owner.isEmpty() && site.isEmpty() ? "" : "; called" + owner + site;
    }

    @Override
    public String toString() {
        return line();
    }
}
