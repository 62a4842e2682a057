package io.pagewalk.trace.replay;

import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.memory.RamMap;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The machine on which a trace is replayed, as far as the trace does not tell. Every address outside the holes, up to
 * the top, counts as RAM.
 *
 * <p>As a file it is JSON; every field may be left out, any other is refused. Addresses, sizes and masks are numbers or
 * strings, decimal or with {@code 0x}; ranges are pairs of first and last address:
 *
 * <pre>{@code
 * {
 *   "holes":   [["0xc0000000", "0xffffffff"]],
 *   "ramTop":  "0x3ffffffffff",
 *   "cpus":    2,
 *   "swiotlb": {"slots": 32768, "areas": 0},
 *   "iommu":   {"widthBits": 48, "reserved": [["0xa0000", "0xbffff"]]},
 *   "devices": {
 *     "0000:00:04.0": {"maskBits": 64, "minAlignMask": "0xfff", "maxSegmentBytes": "0x10000",
 *                      "segmentBoundaryMask": "0xffffffff", "coherent": true, "addressBits": 64}
 *   }
 * }
 * }</pre>
 *
 * <p>Three more fields count only where recorded addresses are predicted: {@code swiotlb.start}, where the bounce pool
 * lay; {@code iommu.mode}, one of {@code off}, {@code strict} and {@code lazy}; and {@code drivers}, which says of all
 * devices of a driver what {@code devices} says of one.
 *
 * @param holes where there is no RAM, ascending, at least one; the first lies below 4 GiB and is so large that the
 *     emulator's own pool and pages fit in
 * @param ramTop last address that is RAM; the emulator's tables lie above it
 * @param cpus number of CPUs, null for those that the trace's header tells, else the default
 * @param swiotlbSlots slots of 2 KiB in the bounce pool
 * @param swiotlbAreas areas of the pool, 0 for as many as CPUs
 * @param iommuWidthBits width of the IOMMU's addresses
 * @param iommuReserved addresses that the IOMMU hands out to nobody
 * @param devices what is known of devices, by name
 * @param facts what the file itself says, without defaults
 */
public record MachineSpec(
        List<PhysRange> holes,
        long ramTop,
        @Nullable Integer cpus,
        int swiotlbSlots,
        int swiotlbAreas,
        int iommuWidthBits,
        List<PhysRange> iommuReserved,
        Map<String, DeviceSpec> devices,
        MachineFacts facts) {

    /** Last address of RAM unless a file says otherwise: 4 TiB. */
    public static final long DEFAULT_RAM_TOP = (4L << 40) - 1;

    /** CPUs unless a file or the trace says otherwise. */
    public static final int DEFAULT_CPUS = 2;

    /** Slots of the pool unless a file says otherwise: 64 MiB, the kernel's default. */
    public static final int DEFAULT_SWIOTLB_SLOTS = 32768;

    /** Width of the IOMMU's addresses unless a file says otherwise. */
    public static final int DEFAULT_IOMMU_WIDTH_BITS = 48;

    /** The machine of no file. */
    public static final MachineSpec DEFAULT = new MachineSpec(
            List.of(new PhysRange(RamMap.PC_HOLE_FIRST, RamMap.PC_HOLE_LAST)),
            DEFAULT_RAM_TOP,
            null,
            DEFAULT_SWIOTLB_SLOTS,
            0,
            DEFAULT_IOMMU_WIDTH_BITS,
            List.of(),
            Map.of(),
            MachineFacts.NONE);

    /**
     * Copies lists and map.
     *
     * @param holes where there is no RAM
     * @param ramTop last address that is RAM
     * @param cpus number of CPUs, or null
     * @param swiotlbSlots slots of the bounce pool
     * @param swiotlbAreas areas of the pool
     * @param iommuWidthBits width of the IOMMU's addresses
     * @param iommuReserved addresses that the IOMMU hands out to nobody
     * @param devices what is known of devices
     * @param facts what the file itself says
     */
    public MachineSpec {
        holes = List.copyOf(holes);
        iommuReserved = List.copyOf(iommuReserved);
        devices = java.util.Collections.unmodifiableMap(new LinkedHashMap<>(devices));
    }

    /**
     * Reads a machine file.
     *
     * @param file the file
     * @return the machine
     * @throws MachineSpecException when it cannot be read or is not right; the message names file and field
     */
    public static MachineSpec read(Path file) throws MachineSpecException {
        String text;
        try {
            text = Files.readString(file);
        } catch (IOException failed) {
            MachineSpecException wrapped =
                    new MachineSpecException(file.toString(), "", "cannot be read: " + cause(failed));
            wrapped.initCause(failed);
            throw wrapped;
        }
        return parse(file.toString(), text);
    }

    private static String cause(IOException failed) {
        if (failed instanceof NoSuchFileException) {
            return "no such file";
        }
        if (failed instanceof CharacterCodingException) {
            return "it is not UTF-8 text";
        }
        return failed.getMessage() == null ? failed.getClass().getSimpleName() : failed.getMessage();
    }

    /**
     * Reads a machine from text.
     *
     * @param name what to call the text in messages
     * @param json the text
     * @return the machine
     * @throws MachineSpecException when it is not right; the message has the name and the field
     */
    public static MachineSpec parse(String name, String json) throws MachineSpecException {
        MachineSpec spec = new MachineSpecParser(name).parse(json);
        MachineLayout.check(name, spec);
        return spec;
    }
}
