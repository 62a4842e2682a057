package io.pagewalk.trace.predict;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.trace.LogLines;
import io.pagewalk.trace.UnreadableTraceException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Picks the lines out of a boot log that DMA addresses depend on; the first of a kind counts. */
final class BootLogParser {
    private static final int MOST_CPUS = 8192;
    private static final int LEAST_WIDTH_BITS = 31;
    private static final int MOST_WIDTH_BITS = 57;

    private static final Pattern COMMAND_LINE = Pattern.compile("(?:Kernel command line|Command line): (.*)");
    private static final Pattern CPUS = Pattern.compile("\\bnr_cpu_ids:(\\d{1,5})\\b");
    private static final Pattern AREAS = Pattern.compile("software IO TLB: area num (\\d{1,5})\\b");
    private static final Pattern POOL =
            Pattern.compile("software IO TLB: mapped \\[mem 0x([0-9a-fA-F]{1,16})-0x([0-9a-fA-F]{1,16})\\]");
    private static final Pattern WINDOW = Pattern.compile(
            "pci_bus \\S+: root bus resource \\[mem 0x([0-9a-fA-F]{1,16})-0x([0-9a-fA-F]{1,16})(?: window)?\\]");
    private static final Pattern POLICY =
            Pattern.compile("iommu: DMA domain TLB invalidation policy: (lazy|strict) mode");
    private static final Pattern PASSTHROUGH = Pattern.compile("iommu: Default domain type: Passthrough");
    private static final Pattern VTD = Pattern.compile("DMAR: Intel\\(R\\) Virtualization Technology for Directed I/O");
    private static final Pattern CAPABILITY =
            Pattern.compile("DMAR: \\S+: reg_base_addr \\S+ ver \\S+ cap ([0-9a-fA-F]{1,16})\\b");
    private static final String PCI = "([0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7])";
    private static final Pattern PCI_FUNCTION = Pattern.compile("(\\w+) \\S+: pci function " + PCI + "$");
    private static final Pattern PCI_DRIVER =
            Pattern.compile("^(?!pci\\b|pci_bus\\b|pcieport\\b)([\\w-]+) " + PCI + "\\b");
    private static final Pattern TIME = Pattern.compile("^(?:<\\d+>)?\\[[ \\d.]+\\]\\s?");

    private final String name;
    private final List<PhysRange> windows = new ArrayList<>();
    private final Map<String, String> drivers = new LinkedHashMap<>();
    private @Nullable String commandLine;
    private @Nullable Integer cpus;
    private @Nullable PhysRange pool;
    private @Nullable Integer areas;
    private @Nullable Boolean lazy;
    private @Nullable Integer widthBits;
    private boolean vtd;
    private boolean passthrough;

    BootLogParser(String name) {
        this.name = name;
    }

    BootLog parse(LogLines lines) throws UnreadableTraceException, MachineFactsException {
        boolean found = false;
        for (String line = lines.next(); line != null; line = lines.next()) {
            found |= take(TIME.matcher(line).replaceFirst(""), lines.lineNumber());
        }
        if (!found) {
            throw new MachineFactsException(name, "no line of a kernel's boot log that DMA addresses depend on");
        }
        return new BootLog(
                name, commandLine, cpus, pool, areas, vtd && !passthrough, lazy, widthBits, windows, drivers);
    }

    /** Whether a line tells something. */
    private boolean take(String line, long lineNumber) throws MachineFactsException {
        return takeSystem(line) || takePool(line, lineNumber) || takeIommu(line) || takeDriver(line);
    }

    private boolean takeSystem(String line) throws MachineFactsException {
        Matcher match = COMMAND_LINE.matcher(line);
        if (match.lookingAt()) {
            commandLine = commandLine == null ? match.group(1) : commandLine;
            return true;
        }
        match = CPUS.matcher(line);
        if (match.find()) {
            cpus = cpus == null ? Integer.valueOf(match.group(1)) : cpus;
            if (cpus < 1 || cpus > MOST_CPUS) {
                throw new MachineFactsException(name, "nr_cpu_ids:" + cpus + " is not between 1 and " + MOST_CPUS);
            }
            return true;
        }
        return false;
    }

    private boolean takePool(String line, long lineNumber) throws MachineFactsException {
        Matcher match = AREAS.matcher(line);
        if (match.find()) {
            areas = areas == null ? Integer.valueOf(match.group(1)) : areas;
            return true;
        }
        match = POOL.matcher(line);
        if (match.find()) {
            // The kernel prints the address behind the pool.
            pool = pool == null ? range(match, -1, lineNumber) : pool;
            return true;
        }
        match = WINDOW.matcher(line);
        if (match.find()) {
            windows.add(range(match, 0, lineNumber));
            return true;
        }
        return false;
    }

    private PhysRange range(Matcher match, long endOffset, long lineNumber) throws MachineFactsException {
        long first = Long.parseUnsignedLong(match.group(1), 16);
        long last = Long.parseUnsignedLong(match.group(2), 16) + endOffset;
        if (Addresses.lessThan(last, first)) {
            throw new MachineFactsException(
                    name, "line " + lineNumber + ": the range from " + Addresses.hex(first) + " ends before it begins");
        }
        return new PhysRange(first, last);
    }

    private boolean takeIommu(String line) {
        Matcher match = POLICY.matcher(line);
        if (match.find()) {
            if (lazy == null) {
                lazy = match.group(1).equals("lazy");
            }
            return true;
        }
        match = CAPABILITY.matcher(line);
        if (match.find()) {
            widthBits = widthBits == null ? width(Long.parseUnsignedLong(match.group(1), 16)) : widthBits;
            return true;
        }
        boolean isVtd = VTD.matcher(line).find();
        boolean isPassthrough = PASSTHROUGH.matcher(line).find();
        vtd |= isVtd;
        passthrough |= isPassthrough;
        return isVtd || isPassthrough;
    }

    /**
     * Of the widths that the page tables of a unit can have, the widest, but no more than the unit takes: bits 8 to 12
     * of the capability register say 30 to 66 bits in steps of 9, bits 16 to 21 the limit minus one.
     */
    private static @Nullable Integer width(long capability) {
        int tables = (int) (capability >>> 8) & 0x1f;
        int limit = ((int) (capability >>> 16) & 0x3f) + 1;
        int widest = 30 + 9 * (Integer.SIZE - 1 - Integer.numberOfLeadingZeros(tables));
        int width = Math.min(Math.min(widest, limit), MOST_WIDTH_BITS);
        return tables == 0 || width < LEAST_WIDTH_BITS ? null : width;
    }

    private boolean takeDriver(String line) {
        Matcher match = PCI_FUNCTION.matcher(line);
        if (!match.find()) {
            match = PCI_DRIVER.matcher(line);
            if (!match.find()) {
                return false;
            }
        }
        drivers.putIfAbsent(match.group(2), match.group(1));
        return true;
    }
}
