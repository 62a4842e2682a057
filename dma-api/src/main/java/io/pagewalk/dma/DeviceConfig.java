package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PhysRange;
import io.pagewalk.dma.spi.DmaOps;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a device is before its driver touches it: identity, masks, limits, wires. Immutable; each {@code with} method
 * returns a changed copy. {@link #named} starts as a PCI device that is coherent and trusted, on wires of 64 bits,
 * whose driver has set both masks to 64 bits, with the limits of dma-core:DEV-6.
 */
public final class DeviceConfig {
    /** Says that a device is near no NUMA node. */
    public static final int NO_NODE = -1;

    /** Lets the machine choose the next free requester id. */
    public static final int ANY_REQUESTER_ID = -1;

    private final String name;
    private int requesterId = ANY_REQUESTER_ID;
    private @Nullable Long streamingMask = -1L;
    private long coherentMask = -1L;
    private long busLimit;
    private List<DmaRange> ranges = List.of();
    private int maxSegmentBytes;
    private long segmentBoundaryMask = 0xffff_ffffL;
    private int minAlignMask;
    private boolean coherent = true;
    private boolean trusted = true;
    private boolean pci = true;
    private int addressBits = 64;
    private int numaNode = NO_NODE;
    private @Nullable List<DmaRange> busRanges;
    private boolean dmaParms = true;
    private @Nullable DmaOps dmaOps;
    private boolean dmaOpsBypass;
    private @Nullable String cmaArea;
    private @Nullable String driver;
    private @Nullable String restrictedPool;
    private int pciClass;
    private List<PhysRange> firmwareRegions = List.of();
    private @Nullable String iommuGroup;
    private PciPlace pciPlace = PciPlace.ALONE;

    private DeviceConfig(String name) {
        this.name = name;
    }

    private DeviceConfig copy() {
        DeviceConfig copy = new DeviceConfig(name);
        copy.requesterId = requesterId;
        copy.streamingMask = streamingMask;
        copy.coherentMask = coherentMask;
        copy.busLimit = busLimit;
        copy.ranges = ranges;
        copy.maxSegmentBytes = maxSegmentBytes;
        copy.segmentBoundaryMask = segmentBoundaryMask;
        copy.minAlignMask = minAlignMask;
        copy.coherent = coherent;
        copy.trusted = trusted;
        copy.pci = pci;
        copy.addressBits = addressBits;
        copy.numaNode = numaNode;
        copy.busRanges = busRanges;
        copy.dmaParms = dmaParms;
        copy.dmaOps = dmaOps;
        copy.dmaOpsBypass = dmaOpsBypass;
        copy.cmaArea = cmaArea;
        copy.restrictedPool = restrictedPool;
        copy.pciClass = pciClass;
        copy.firmwareRegions = firmwareRegions;
        copy.iommuGroup = iommuGroup;
        copy.pciPlace = pciPlace;
        copy.driver = driver;
        return copy;
    }

    /**
     * A PCI device of a name with every default.
     *
     * @param name its name, unique on the machine
     * @return the configuration
     */
    public static DeviceConfig named(String name) {
        if (name.isBlank()) {
            throw new IllegalArgumentException("a device needs a name");
        }
        return new DeviceConfig(name);
    }

    /**
     * A platform device of a name: no PCI device, both masks of 32 bits, {@code dma_parms} of zeros (dma-core:DEV-6).
     *
     * @param name its name, unique on the machine
     * @return the configuration
     */
    public static DeviceConfig platform(String name) {
        return named(name).withPci(false).withMask(0xffff_ffffL).withSegments(0, 0);
    }

    /**
     * Changes the requester id.
     *
     * @param id bus, device and function as on PCI, 0 to 0xffff, or {@link #ANY_REQUESTER_ID}
     * @return a changed copy
     */
    public DeviceConfig withRequesterId(int id) {
        if (id < ANY_REQUESTER_ID || id > 0xffff) {
            throw new IllegalArgumentException("requester id " + id + " of " + name + " is not 16-bit");
        }
        DeviceConfig copy = copy();
        copy.requesterId = id;
        return copy;
    }

    /**
     * Changes both masks.
     *
     * @param mask the mask
     * @return a changed copy
     */
    public DeviceConfig withMask(long mask) {
        return withStreamingMask(mask).withCoherentMask(mask);
    }

    /**
     * Changes the streaming mask.
     *
     * @param mask the streaming mask, or null when the device has none (dma-core:DEV-1)
     * @return a changed copy
     */
    public DeviceConfig withStreamingMask(@Nullable Long mask) {
        DeviceConfig copy = copy();
        copy.streamingMask = mask;
        return copy;
    }

    /**
     * Changes the mask of coherent allocations.
     *
     * @param mask the mask of coherent allocations
     * @return a changed copy
     */
    public DeviceConfig withCoherentMask(long mask) {
        DeviceConfig copy = copy();
        copy.coherentMask = mask;
        return copy;
    }

    /**
     * Changes the bus limit.
     *
     * @param limit highest address the bus in between passes, 0 for none (dma-core:DEV-2)
     * @return a changed copy
     */
    public DeviceConfig withBusLimit(long limit) {
        DeviceConfig copy = copy();
        copy.busLimit = limit;
        return copy;
    }

    /**
     * Changes the dma-ranges.
     *
     * @param entries in array order, of which the first that fits wins (dma-core:DIR-3)
     * @return a changed copy
     */
    public DeviceConfig withRanges(DmaRange... entries) {
        DeviceConfig copy = copy();
        copy.ranges = List.of(entries);
        return copy;
    }

    /**
     * Changes what the device can take of a list.
     *
     * @param maxBytes largest segment, unsigned, 0 for the default
     * @param boundaryMask the segment boundary mask, 0 for none
     * @return a changed copy
     */
    public DeviceConfig withSegments(int maxBytes, long boundaryMask) {
        if ((boundaryMask & (boundaryMask + 1)) != 0) {
            throw new IllegalArgumentException("segment boundary mask " + Addresses.hex(boundaryMask) + " of " + name
                    + " is not a power of two minus one");
        }
        DeviceConfig copy = copy();
        copy.maxSegmentBytes = maxBytes;
        copy.segmentBoundaryMask = boundaryMask;
        return copy;
    }

    /**
     * Changes the alignment that a bounce keeps.
     *
     * @param mask bits of an address that a bounce must keep, such as 0xfff for NVMe
     * @return a changed copy
     */
    public DeviceConfig withMinAlignMask(int mask) {
        DeviceConfig copy = copy();
        copy.minAlignMask = mask;
        return copy;
    }

    /**
     * Changes whether the device snoops caches.
     *
     * @param yes whether the device snoops the CPU's caches
     * @return a changed copy
     */
    public DeviceConfig withCoherent(boolean yes) {
        DeviceConfig copy = copy();
        copy.coherent = yes;
        return copy;
    }

    /**
     * Changes whether the device is trusted.
     *
     * @param yes false for a device on an external port, whose mappings are kept apart
     * @return a changed copy
     */
    public DeviceConfig withTrusted(boolean yes) {
        DeviceConfig copy = copy();
        copy.trusted = yes;
        return copy;
    }

    /**
     * Changes whether it is a PCI device.
     *
     * @param yes whether it is a PCI device, which tries 32-bit device addresses first (iommu:DIOVA-3)
     * @return a changed copy
     */
    public DeviceConfig withPci(boolean yes) {
        DeviceConfig copy = copy();
        copy.pci = yes;
        return copy;
    }

    /**
     * Changes the wires.
     *
     * @param bits how many address lines its wires have, 1 to 64
     * @return a changed copy
     */
    public DeviceConfig withAddressBits(int bits) {
        if (bits < 1 || bits > 64) {
            throw new IllegalArgumentException(name + " cannot have " + bits + " address lines");
        }
        DeviceConfig copy = copy();
        copy.addressBits = bits;
        return copy;
    }

    /**
     * Changes what the bus really does to addresses, where the kernel's {@link #ranges()} do not tell the truth, or are
     * only told by {@link Device#setOffset} later.
     *
     * @param entries in array order; none for one to one
     * @return a changed copy
     */
    public DeviceConfig withBusRanges(DmaRange... entries) {
        DeviceConfig copy = copy();
        copy.busRanges = List.of(entries);
        return copy;
    }

    /**
     * Takes the device's {@code dma_parms} away: limits of segments are the defaults, and cannot be set
     * (dma-core:DEV-5).
     *
     * @return a changed copy
     */
    public DeviceConfig withoutDmaParms() {
        DeviceConfig copy = copy();
        copy.dmaParms = false;
        return copy;
    }

    /**
     * Gives the device operations of its own, honoured when {@link KernelConfig#dmaOps()} says so (dma-core:SEL-1).
     *
     * @param ops the operations, or null
     * @return a changed copy
     */
    public DeviceConfig withDmaOps(@Nullable DmaOps ops) {
        DeviceConfig copy = copy();
        copy.dmaOps = ops;
        return copy;
    }

    /**
     * Lets the device go around its own operations where its mask reaches all memory, honoured when
     * {@link KernelConfig#dmaOpsBypass()} says so (dma-core:SEL-2).
     *
     * @return a changed copy
     */
    public DeviceConfig withDmaOpsBypass() {
        DeviceConfig copy = copy();
        copy.dmaOpsBypass = true;
        return copy;
    }

    /**
     * Changes the NUMA node.
     *
     * @param node the node that the device is near, from 0, or {@link #NO_NODE}
     * @return a changed copy
     */
    public DeviceConfig withNumaNode(int node) {
        DeviceConfig copy = copy();
        copy.numaNode = node;
        return copy;
    }

    /**
     * Gives the device a contiguous memory area of its own.
     *
     * @param area the name of an area of the machine, or null (dma-core:ALC-9)
     * @return a changed copy
     */
    public DeviceConfig withCmaArea(@Nullable String area) {
        DeviceConfig copy = copy();
        copy.cmaArea = area;
        return copy;
    }

    /**
     * Names the device's driver, which messages show and filters look for (dma-core:DBG-7, DBG-8).
     *
     * @param driverName its name, or null
     * @return a changed copy
     */
    public DeviceConfig withDriver(@Nullable String driverName) {
        DeviceConfig copy = copy();
        copy.driver = driverName;
        return copy;
    }

    /**
     * Confines the device to a restricted pool.
     *
     * @param pool the name of a restricted pool of the machine, or null (dma-core:SWX-1)
     * @return a changed copy
     */
    public DeviceConfig withRestrictedPool(@Nullable String pool) {
        DeviceConfig copy = copy();
        copy.restrictedPool = pool;
        return copy;
    }

    /**
     * Changes the PCI class, which decides how firmware regions bind (iommu:CORE-33).
     *
     * @param code class and subclass, such as 0x0c03 for USB; 0 for none in particular
     * @return a changed copy
     */
    public DeviceConfig withPciClass(int code) {
        DeviceConfig copy = copy();
        copy.pciClass = code;
        return copy;
    }

    /**
     * Sets the memory that firmware keeps for the device, which an IOMMU must map to itself: its RMRRs (iommu:CORE-33).
     *
     * @param regions first and last bytes
     * @return a changed copy
     */
    public DeviceConfig withFirmwareRegions(PhysRange... regions) {
        DeviceConfig copy = copy();
        copy.firmwareRegions = List.of(regions);
        return copy;
    }

    /**
     * Puts the device into an IOMMU group with others: devices that the IOMMU cannot keep apart, since they reach each
     * other or share a requester id on the way (iommu:GRP-1).
     *
     * @param group the group's name, or null for a group of its own
     * @return a changed copy
     */
    public DeviceConfig withIommuGroup(@Nullable String group) {
        DeviceConfig copy = copy();
        copy.iommuGroup = group;
        return copy;
    }

    /**
     * Changes where the device stands on PCI, which decides its IOMMU group when that has no name (iommu:GRP-1).
     *
     * @param place bridges above, isolation, further requester ids
     * @return a changed copy
     */
    public DeviceConfig withPciPlace(PciPlace place) {
        DeviceConfig copy = copy();
        copy.pciPlace = Objects.requireNonNull(place, "place");
        return copy;
    }

    /**
     * The name of the device.
     *
     * @return unique on the machine, such as {@code 0000:00:04.0}
     */
    public String name() {
        return name;
    }

    /**
     * The requester id of the device.
     *
     * @return bus, device and function as on PCI, 0 to 0xffff, or {@link #ANY_REQUESTER_ID}
     */
    public int requesterId() {
        return requesterId;
    }

    /**
     * The streaming mask of the device.
     *
     * @return the streaming mask, or null when the device has none (dma-core:DEV-1)
     */
    public @Nullable Long streamingMask() {
        return streamingMask;
    }

    /**
     * The coherent mask of the device.
     *
     * @return the mask of coherent allocations
     */
    public long coherentMask() {
        return coherentMask;
    }

    /**
     * The bus limit of the device.
     *
     * @return highest address the bus in between passes, 0 for none (dma-core:DEV-2)
     */
    public long busLimit() {
        return busLimit;
    }

    /**
     * The dma-ranges of the device.
     *
     * @return the dma-ranges in array order, empty for one to one
     */
    public List<DmaRange> ranges() {
        return ranges;
    }

    /**
     * The segment limit of the device.
     *
     * @return largest segment, unsigned, 0 for the default of 64 KiB (dma-core:DEV-5)
     */
    public int maxSegmentBytes() {
        return maxSegmentBytes;
    }

    /**
     * The segment boundary of the device.
     *
     * @return a segment must not cross a multiple of this plus one, 0 for no boundary
     */
    public long segmentBoundaryMask() {
        return segmentBoundaryMask;
    }

    /**
     * The alignment that a bounce keeps of the device.
     *
     * @return bits of an address that a bounce must keep, such as 0xfff for NVMe
     */
    public int minAlignMask() {
        return minAlignMask;
    }

    /**
     * The PCI class of the device.
     *
     * @return class and subclass, 0 for none in particular
     */
    public int pciClass() {
        return pciClass;
    }

    /**
     * The memory that firmware keeps for the device.
     *
     * @return the regions, none by default
     */
    public List<PhysRange> firmwareRegions() {
        return firmwareRegions;
    }

    /**
     * The IOMMU group of the device.
     *
     * @return the group's name, or null for a group of its own
     */
    public @Nullable String iommuGroup() {
        return iommuGroup;
    }

    /**
     * Where the device stands on PCI.
     *
     * @return by itself on a root bus by default
     */
    public PciPlace pciPlace() {
        return pciPlace;
    }

    /**
     * Coherence of the device.
     *
     * @return whether the device snoops the CPU's caches
     */
    public boolean coherent() {
        return coherent;
    }

    /**
     * Trust of the device.
     *
     * @return false for a device on an external port, whose mappings are kept apart
     */
    public boolean trusted() {
        return trusted;
    }

    /**
     * The bus kind of the device.
     *
     * @return whether it is a PCI device, which tries 32-bit device addresses first (iommu:DIOVA-3)
     */
    public boolean pci() {
        return pci;
    }

    /**
     * The wires of the device.
     *
     * @return how many address lines its wires have, 1 to 64
     */
    public int addressBits() {
        return addressBits;
    }

    /**
     * {@return what the bus really does to addresses, in array order: {@link #ranges()} unless something else was said}
     */
    public List<DmaRange> busRanges() {
        return busRanges == null ? ranges : busRanges;
    }

    /** {@return false when limits of segments cannot be set (dma-core:DEV-5)} */
    public boolean hasDmaParms() {
        return dmaParms;
    }

    /** {@return operations of the device's own, or null (dma-core:SEL-1)} */
    public @Nullable DmaOps dmaOps() {
        return dmaOps;
    }

    /** {@return whether the device goes around its own operations (dma-core:SEL-2)} */
    public boolean dmaOpsBypass() {
        return dmaOpsBypass;
    }

    /**
     * The NUMA node of the device.
     *
     * @return the node that it is near, or {@link #NO_NODE}
     */
    public int numaNode() {
        return numaNode;
    }

    /**
     * The contiguous memory area of the device.
     *
     * @return the area's name, or null
     */
    public @Nullable String cmaArea() {
        return cmaArea;
    }

    /**
     * The restricted pool of the device.
     *
     * @return the pool's name, or null
     */
    public @Nullable String restrictedPool() {
        return restrictedPool;
    }

    /**
     * The name of the device's driver.
     *
     * @return the name, or null
     */
    public @Nullable String driver() {
        return driver;
    }

    @Override
    public String toString() {
        return name;
    }
}
