package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a device can take of a list, and where memory appears on its bus.
 *
 * <p>Implements dma-core:DEV-4, DEV-5, DIR-1 to DIR-5. The settings are for one thread; what they say may be read from
 * several, by calls that are ordered after them.
 */
public abstract sealed class DeviceLimits permits Device {
    private static final int DEFAULT_MAX_SEGMENT = 0x10000;
    private static final long U32 = 0xffff_ffffL;

    private final DeviceConfig config;
    private final KernelLog log;
    private final FailureInjection failures;
    private final long encryptionMask;
    /** Null when there is no map: addresses are physical ones then. */
    private @Nullable RangeMap ranges;

    private int maxSegmentBytes;
    private long segmentBoundaryMask;
    private int minAlignMask;

    DeviceLimits(Machine machine, DeviceConfig config) {
        this.config = config;
        this.log = machine.log();
        this.failures = machine.failures();
        this.encryptionMask = machine.kernelConfig().arch().encryptionMask();
        this.ranges = config.ranges().isEmpty() ? null : new RangeMap(config.ranges());
        if (config.hasDmaParms()) {
            this.maxSegmentBytes = config.maxSegmentBytes();
            this.segmentBoundaryMask = config.segmentBoundaryMask();
            this.minAlignMask = config.minAlignMask();
        }
    }

    /**
     * {@code dma_set_max_seg_size} (dma-core:DEV-5). Without {@code dma_parms} it only WARNs, once.
     *
     * @param bytes largest segment, 0 to 2^32 - 1; 0 means 64 KiB
     * @throws IllegalArgumentException when it needs more than 32 bits
     */
    public void setMaxSegmentBytes(long bytes) {
        int value = unsignedInt(bytes, "a segment size");
        if (hasParms("dma_set_max_seg_size")) {
            maxSegmentBytes = value;
        }
    }

    /**
     * {@code dma_set_seg_boundary} (dma-core:DEV-5). Without {@code dma_parms} it only WARNs, once.
     *
     * @param mask the boundary minus one, 0 for none
     */
    public void setSegmentBoundaryMask(long mask) {
        if (hasParms("dma_set_seg_boundary")) {
            segmentBoundaryMask = mask;
        }
    }

    /**
     * {@code dma_set_min_align_mask} (dma-core:DEV-5). Without {@code dma_parms} it only WARNs, once.
     *
     * @param mask bits of an address that a bounce must keep, at most 32
     * @throws IllegalArgumentException when it needs more than 32 bits
     */
    public void setMinAlignMask(long mask) {
        int value = unsignedInt(mask, "a minimum alignment");
        if (hasParms("dma_set_min_align_mask")) {
            minAlignMask = value;
        }
    }

    private boolean hasParms(String setter) {
        if (!config.hasDmaParms()) {
            log.site(setter).warnOnce(() -> config.name() + " has no dma_parms, nothing is stored (dma-core:DEV-5)");
        }
        return config.hasDmaParms();
    }

    private static int unsignedInt(long value, String what) {
        if ((value & ~U32) != 0) {
            throw new IllegalArgumentException(what + " is 32-bit, not " + Addresses.hex(value) + " (dma-core:DEV-5)");
        }
        return (int) value;
    }

    /**
     * Largest segment of a list (dma-core:DEV-5).
     *
     * @return bytes, unsigned 32-bit
     */
    public long maxSegmentBytes() {
        return maxSegmentBytes == 0 ? DEFAULT_MAX_SEGMENT : maxSegmentBytes & U32;
    }

    /**
     * The boundary that a segment must not cross (dma-core:DEV-5).
     *
     * @return the boundary minus one, all ones for none
     */
    public long segmentBoundaryMask() {
        return segmentBoundaryMask == 0 ? -1L : segmentBoundaryMask;
    }

    /**
     * Address bits that a bounce must keep (dma-core:DEV-5).
     *
     * @return the mask, unsigned 32-bit
     */
    public long minAlignMask() {
        return minAlignMask & U32;
    }

    /**
     * {@code dma_get_seg_boundary_nr_pages}: the boundary in units of pages of a size (dma-core:DEV-5).
     *
     * @param device the device, or null for 32 bits
     * @param pageShift log2 of the page size, 0 to 63
     * @return the count, 0 where 2^64 would be
     * @throws IllegalArgumentException for any other shift
     */
    public static long segmentBoundaryPages(@Nullable Device device, int pageShift) {
        if (pageShift < 0 || pageShift >= Long.SIZE) {
            throw new IllegalArgumentException("a page of 2^" + pageShift + " bytes");
        }
        return ((device == null ? U32 : device.segmentBoundaryMask()) >>> pageShift) + 1;
    }

    /**
     * Where a physical address appears on the device's bus, with the memory encryption bit where there is one
     * (dma-core:DIR-1). Only the first byte of a buffer is translated (DIR-3).
     *
     * @param physAddr the address
     * @return the DMA address, all ones when no range covers it
     */
    public long physToDma(long physAddr) {
        return physToDmaUnencrypted(physAddr) | encryptionMask;
    }

    /**
     * Where a physical address of memory that is not encrypted appears on the device's bus, such as that of a bounce
     * buffer (dma-core:DIR-1).
     *
     * @param physAddr the address
     * @return the DMA address, all ones when no range covers it
     */
    public long physToDmaUnencrypted(long physAddr) {
        RangeMap map = ranges;
        return map == null ? physAddr : map.physToDma(physAddr);
    }

    /**
     * Which physical address a DMA address stands for (dma-core:DIR-2). The memory encryption bit is cleared last, so
     * that with dma-ranges an address that has it is found in no range, as in the kernel.
     *
     * @param dmaAddr the address on the bus
     * @return the physical address, all ones without the memory encryption bit when no range covers it
     */
    public long dmaToPhys(long dmaAddr) {
        RangeMap map = ranges;
        return (map == null ? dmaAddr : map.dmaToPhys(dmaAddr)) & ~encryptionMask;
    }

    /**
     * Whether physical and DMA addresses differ.
     *
     * @return true when the device has dma-ranges
     */
    public boolean hasRanges() {
        return ranges != null;
    }

    /**
     * The dma-ranges as the kernel knows them now: those of the configuration, or that of {@link #setOffset}.
     *
     * @return in array order; empty when there are none, or one of size 0
     */
    public List<DmaRange> ranges() {
        RangeMap map = ranges;
        return map == null ? List.of() : map.list();
    }

    /**
     * The lowest DMA address of the dma-ranges (dma-core:DIR-4).
     *
     * @return the least start, all ones when there is no entry
     */
    public long lowestRangeDmaAddr() {
        long lowest = -1L;
        for (DmaRange range : ranges()) {
            lowest = Addresses.min(lowest, range.dmaStart());
        }
        return lowest;
    }

    /**
     * The highest DMA address of the dma-ranges (dma-core:DIR-4).
     *
     * @return the greatest last byte, 0 when there is no entry
     */
    public long highestRangeDmaAddr() {
        long highest = 0;
        for (DmaRange range : ranges()) {
            highest = Addresses.max(highest, Addresses.last(range.dmaStart(), range.sizeBytes()));
        }
        return highest;
    }

    /**
     * {@code dma_direct_set_offset}: tells the kernel where memory appears on the device's bus (dma-core:DIR-5). The
     * bus itself does what {@link DeviceConfig#busRanges()} says, so that a wrong offset shows as faults.
     *
     * @param cpuStart first physical address
     * @param dmaStart its DMA address; equal to {@code cpuStart} for no offset, which leaves the device without ranges
     * @param sizeBytes length; 0 gives a map in which nothing is found
     * @return 0; -EINVAL with an error logged when there are ranges already, -ENOMEM when there is no memory for one
     */
    public int setOffset(long cpuStart, long dmaStart, long sizeBytes) {
        if (hasRanges()) {
            log.message("dma_direct_set_offset", config.name() + " has dma-ranges already (dma-core:DIR-5)");
            return -Errno.EINVAL;
        }
        if (cpuStart == dmaStart) {
            return 0;
        }
        if (failures.point("dma.range_map").fails()) {
            return -Errno.ENOMEM;
        }
        List<DmaRange> entries = sizeBytes == 0 ? List.of() : List.of(new DmaRange(cpuStart, dmaStart, sizeBytes));
        ranges = new RangeMap(entries);
        return 0;
    }
}
