package io.pagewalk.trace.predict;

import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.trace.LogLines;
import io.pagewalk.trace.UnreadableTraceException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a kernel's boot log ({@code dmesg}) tells of the machine that a trace was recorded on, as far as DMA addresses
 * depend on it; null where it says nothing. Other lines are passed over.
 *
 * @param name what to call the log in messages
 * @param commandLine the kernel's command line
 * @param cpus possible CPUs ({@code nr_cpu_ids})
 * @param pool where the bounce pool lies ({@code software IO TLB: mapped})
 * @param areas areas of the pool ({@code software IO TLB: area num})
 * @param iommuOn whether an IOMMU translates
 * @param lazy whether its unmaps are flushed together ({@code DMA domain TLB invalidation policy})
 * @param iommuWidthBits width of the IOMMU's addresses, from the capability register of the first unit
 * @param hostBridgeWindows memory windows of PCI host bridges, which no mapping uses
 * @param drivers who drives each PCI device, by the device's name
 */
public record BootLog(
        String name,
        @Nullable String commandLine,
        @Nullable Integer cpus,
        @Nullable PhysRange pool,
        @Nullable Integer areas,
        boolean iommuOn,
        @Nullable Boolean lazy,
        @Nullable Integer iommuWidthBits,
        List<PhysRange> hostBridgeWindows,
        Map<String, String> drivers) {

    private static final String BUNDLED = "dmesg-direct.txt.gz";

    /** What the bundled log is called in messages. */
    public static final String BUNDLED_NAME = "dmesg-direct (bundled)";

    /**
     * Copies list and map.
     *
     * @param name what to call the log
     * @param commandLine the kernel's command line, or null
     * @param cpus possible CPUs, or null
     * @param pool where the bounce pool lies, or null
     * @param areas areas of the pool, or null
     * @param iommuOn whether an IOMMU translates
     * @param lazy whether unmaps are flushed together, or null
     * @param iommuWidthBits width of the IOMMU's addresses, or null
     * @param hostBridgeWindows memory windows of PCI host bridges
     * @param drivers who drives each device
     */
    public BootLog {
        hostBridgeWindows = List.copyOf(hostBridgeWindows);
        drivers = Collections.unmodifiableMap(new LinkedHashMap<>(drivers));
    }

    /**
     * Reads a log, plain or packed with gzip.
     *
     * @param file the log
     * @return what it tells
     * @throws UnreadableTraceException if it cannot be read
     * @throws MachineFactsException if nothing in it is a boot log's, or a line contradicts itself
     * @throws IOException if it cannot be closed
     */
    public static BootLog read(Path file) throws IOException {
        try (LogLines lines = LogLines.open(file)) {
            return new BootLogParser(lines.name()).parse(lines);
        }
    }

    /**
     * Reads a log from a stream, plain or packed with gzip.
     *
     * @param stream the log; closed at the end
     * @param name what to call it in messages
     * @return what it tells
     * @throws UnreadableTraceException if it cannot be read
     * @throws MachineFactsException if nothing in it is a boot log's, or a line contradicts itself
     * @throws IOException if it cannot be closed
     */
    public static BootLog read(InputStream stream, String name) throws IOException {
        try (LogLines lines = LogLines.open(stream, name)) {
            return new BootLogParser(name).parse(lines);
        }
    }

    /**
     * Reads the log of the machine that recorded the {@link io.pagewalk.trace.BundledTrace}.
     *
     * @return what it tells
     * @throws IOException if the library was packed without it
     */
    public static BootLog bundled() throws IOException {
        InputStream resource = BootLog.class.getResourceAsStream(BUNDLED);
        if (resource == null) {
            throw new MachineFactsException(BUNDLED_NAME, "is not part of this build");
        }
        return read(resource, BUNDLED_NAME);
    }
}
