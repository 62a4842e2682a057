package io.pagewalk.dma;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.spi.DmaBackend;
import io.pagewalk.dma.spi.DmaOps;
import org.jspecify.annotations.Nullable;

/**
 * A device of a machine: what its driver has said of it, its handles of the DMA API, and its bus.
 *
 * <p>Implements dma-core:DEV-1 to DEV-9, MSK-5 to MSK-8, DIR-1 to DIR-3. The driver's settings are for one thread; the
 * handles and the bus may be used from several.
 */
public final class Device {
    private static final long DEFAULT_MASK = 0xffff_ffffL;
    private static final int DEFAULT_MAX_SEGMENT = 0x10000;
    private static final long U32 = 0xffff_ffffL;

    private final Machine machine;
    private final DeviceConfig config;
    private final int requesterId;
    private final DmaRange[] ranges;
    private final boolean coherent;
    private final long encryptionMask;
    private final @Nullable CmaArea cmaArea;
    private final DmaOps ops;
    private final DeviceBus bus;
    private final Dma[] handles;
    private volatile boolean hasStreamingMask;
    private volatile boolean masksAreOne;
    private volatile long streamingMask;
    private volatile long coherentMask;
    private volatile boolean skipSync;
    private volatile long busLimit;
    private volatile int maxSegmentBytes;
    private volatile long segmentBoundaryMask;
    private volatile int minAlignMask;

    Device(Machine machine, DeviceConfig config, int requesterId, DmaBackend backend) {
        this.machine = machine;
        this.config = config;
        this.requesterId = requesterId;
        this.ranges = config.ranges().toArray(new DmaRange[0]);
        ArchConfig arch = machine.kernelConfig().arch();
        this.coherent = config.coherent() || arch.cacheMaintenance() == null;
        this.encryptionMask = arch.encryptionMask();
        String area = config.cmaArea();
        this.cmaArea = area == null ? null : machine.cma().named(area);
        Long mask = config.streamingMask();
        this.hasStreamingMask = mask != null;
        this.streamingMask = mask == null ? 0 : mask;
        this.coherentMask = config.coherentMask();
        this.busLimit = config.busLimit();
        this.maxSegmentBytes = config.maxSegmentBytes();
        this.segmentBoundaryMask = config.segmentBoundaryMask();
        this.minAlignMask = config.minAlignMask();
        this.ops = backend.attach(this);
        this.bus = new DeviceBus(this, backend.port(this), machine.memory(), machine.faults());
        this.handles = new Dma[machine.cpus()];
        for (int cpu = 0; cpu < handles.length; cpu++) {
            handles[cpu] = new Dma(this, cpu, ops);
        }
    }

    /**
     * The machine.
     *
     * @return the owner
     */
    public Machine machine() {
        return machine;
    }

    /**
     * What the device was made from.
     *
     * @return the configuration
     */
    public DeviceConfig config() {
        return config;
    }

    /**
     * The name.
     *
     * @return unique on the machine
     */
    public String name() {
        return config.name();
    }

    /**
     * Bus, device and function as on PCI.
     *
     * @return 0 to 0xffff, unique on the machine
     */
    public int requesterId() {
        return requesterId;
    }

    /**
     * The DMA API as CPU 0 calls it.
     *
     * @return the handle, always the same
     */
    public Dma dma() {
        return handles[0];
    }

    /**
     * The DMA API as a CPU calls it.
     *
     * @param cpu from 0
     * @return the handle, always the same
     */
    public Dma dma(int cpu) {
        if (cpu < 0 || cpu >= handles.length) {
            throw new IllegalArgumentException("CPU " + cpu + " of a machine with " + handles.length);
        }
        return handles[cpu];
    }

    /**
     * The way by which a device model reaches memory.
     *
     * @return the bus
     */
    public DeviceBus bus() {
        return bus;
    }

    /**
     * Where a backend notes why a call of a CPU failed.
     *
     * @param cpu from 0
     * @return the slot of that CPU's handle
     */
    public FailureSlot failure(int cpu) {
        return handles[cpu].failureSlot();
    }

    /**
     * Whether the device has a streaming mask at all (dma-core:DEV-1).
     *
     * @return false for a device that cannot do DMA
     */
    public boolean hasStreamingMask() {
        return hasStreamingMask;
    }

    /**
     * The stored streaming mask, {@code *dma_mask}.
     *
     * @return the mask, 0 when there is none
     */
    public long streamingMask() {
        return streamingMask;
    }

    /**
     * {@code dma_get_mask}: the streaming mask, 32 bits when unset or zero (dma-core:DEV-3).
     *
     * @return the mask
     */
    public long mask() {
        return streamingMask == 0 ? DEFAULT_MASK : streamingMask;
    }

    /**
     * The mask of coherent allocations.
     *
     * @return the mask
     */
    public long coherentMask() {
        return coherentMask;
    }

    /**
     * Highest address the bus in between passes.
     *
     * @return the limit, 0 for none
     */
    public long busLimit() {
        return busLimit;
    }

    /**
     * The smaller of stored streaming mask and bus limit, either ignored when 0: what dma-core:DIR-7 compares with.
     *
     * @return the highest address that mappings may reach
     */
    public long streamingLimit() {
        return Addresses.minNotZero(streamingMask, busLimit);
    }

    /**
     * The smaller of coherent mask and bus limit, either ignored when 0 (dma-core:DIR-9).
     *
     * @return the highest address that coherent memory may have
     */
    public long coherentLimit() {
        return Addresses.minNotZero(coherentMask, busLimit);
    }

    /**
     * {@code dma_set_mask} (dma-core:MSK-5, MSK-8).
     *
     * @param mask the new streaming mask
     * @return 0, or -EIO with nothing changed when the device has no mask or the mask cannot be served
     */
    public int setMask(long mask) {
        if (!hasStreamingMask || !ops.isMaskSupported(this, mask)) {
            return -Errno.EIO;
        }
        streamingMask = mask;
        if (masksAreOne) {
            coherentMask = mask;
        }
        skipSync = !ops.mayNeedSync(this);
        return 0;
    }

    /**
     * {@code dma_set_coherent_mask} (dma-core:MSK-6).
     *
     * @param mask the new mask
     * @return 0, or -EIO with nothing changed
     */
    public int setCoherentMask(long mask) {
        if (!ops.isMaskSupported(this, mask)) {
            return -Errno.EIO;
        }
        coherentMask = mask;
        if (masksAreOne) {
            streamingMask = mask;
        }
        return 0;
    }

    /**
     * {@code dma_set_mask_and_coherent} (dma-core:MSK-7).
     *
     * @param mask both masks
     * @return 0, or -EIO with nothing changed
     */
    public int setMaskAndCoherent(long mask) {
        int result = setMask(mask);
        if (result == 0) {
            setCoherentMask(mask);
        }
        return result;
    }

    /**
     * {@code dma_coerce_mask_and_coherent}: from now on the streaming mask is the coherent one, also for a device that
     * had none; then sets it (dma-core:MSK-7).
     *
     * @param mask the one mask
     * @return 0, or -EIO with the coherent mask unchanged
     */
    public int coerceMaskAndCoherent(long mask) {
        streamingMask = coherentMask;
        masksAreOne = true;
        hasStreamingMask = true;
        return setMaskAndCoherent(mask);
    }

    /**
     * {@code dma_addressing_limited}: whether some memory is out of reach (dma-core:MSK-9).
     *
     * @return true when mask and bus limit do not cover what is required, or dma-ranges leave RAM out
     */
    public boolean isAddressingLimited() {
        return Addresses.lessThan(Addresses.minNotZero(mask(), busLimit), ops.requiredMask(this))
                || !ops.isAllRamMapped(this);
    }

    /**
     * Whether sync calls are skipped (dma-core:DEV-8).
     *
     * @return true from a set_mask that allows it until the first bounce
     */
    public boolean skipsSync() {
        return skipSync;
    }

    /** Ends the skipping of sync calls, since a mapping was bounced (dma-core:SWM-7). */
    public void stopSkippingSync() {
        if (skipSync) {
            skipSync = false;
        }
    }

    /**
     * Stores a streaming mask as bus code does, without asking whether it can be served and without touching
     * {@link #skipsSync()}; a driver calls {@link #setMask}.
     *
     * @param mask any value, also 0 (dma-core:DIR-8)
     */
    public void storeStreamingMask(long mask) {
        hasStreamingMask = true;
        streamingMask = mask;
        if (masksAreOne) {
            coherentMask = mask;
        }
    }

    /**
     * Stores a coherent mask as bus code does, without asking; a driver calls {@link #setCoherentMask}.
     *
     * @param mask any value, also 0
     */
    public void storeCoherentMask(long mask) {
        coherentMask = mask;
        if (masksAreOne) {
            streamingMask = mask;
        }
    }

    /**
     * Changes what is known of the bus in between (dma-core:DEV-2). The wires themselves stay what
     * {@link DeviceConfig#busLimit()} says.
     *
     * @param limit highest address it passes, 0 for none
     */
    public void setBusLimit(long limit) {
        busLimit = limit;
    }

    /**
     * {@code dma_set_max_seg_size} (dma-core:DEV-5).
     *
     * @param bytes largest segment, 0 to 2^32 - 1; 0 means 64 KiB
     * @throws IllegalArgumentException when it needs more than 32 bits
     */
    public void setMaxSegmentBytes(long bytes) {
        maxSegmentBytes = unsignedInt(bytes, "a segment size");
    }

    /**
     * {@code dma_set_seg_boundary} (dma-core:DEV-5).
     *
     * @param mask the boundary minus one, 0 for none
     */
    public void setSegmentBoundaryMask(long mask) {
        segmentBoundaryMask = mask;
    }

    /**
     * {@code dma_set_min_align_mask} (dma-core:DEV-5).
     *
     * @param mask bits of an address that a bounce must keep, at most 32
     * @throws IllegalArgumentException when it needs more than 32 bits
     */
    public void setMinAlignMask(long mask) {
        minAlignMask = unsignedInt(mask, "a minimum alignment");
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
     * Whether the device snoops the CPU's caches, as every device does where the kernel has no cache hooks
     * (dma-core:DEV-7).
     *
     * @return true when no cache maintenance is needed
     */
    public boolean isCoherent() {
        return coherent;
    }

    /**
     * The device's own contiguous memory area (dma-core:DEV-11).
     *
     * @return the area, or null
     */
    public @Nullable CmaArea cmaArea() {
        return cmaArea;
    }

    /**
     * Whether the device is trusted.
     *
     * @return false for one on an external port
     */
    public boolean isTrusted() {
        return config.trusted();
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
        return ranges.length == 0 ? physAddr : physToDmaByRanges(physAddr);
    }

    private long physToDmaByRanges(long physAddr) {
        for (DmaRange range : ranges) {
            if (range.coversPhys(physAddr)) {
                return range.dmaStart() + (physAddr - range.cpuStart());
            }
        }
        return -1L;
    }

    /**
     * Which physical address a DMA address stands for (dma-core:DIR-2). The memory encryption bit is cleared last, so
     * that with dma-ranges an address that has it is found in no range, as in the kernel.
     *
     * @param dmaAddr the address on the bus
     * @return the physical address, all ones without the memory encryption bit when no range covers it
     */
    public long dmaToPhys(long dmaAddr) {
        return (ranges.length == 0 ? dmaAddr : dmaToPhysByRanges(dmaAddr)) & ~encryptionMask;
    }

    private long dmaToPhysByRanges(long dmaAddr) {
        for (DmaRange range : ranges) {
            if (range.coversDma(dmaAddr)) {
                return range.cpuStart() + (dmaAddr - range.dmaStart());
            }
        }
        return -1L;
    }

    /**
     * Whether physical and DMA addresses differ.
     *
     * @return true when the device has dma-ranges
     */
    public boolean hasRanges() {
        return ranges.length != 0;
    }

    @Override
    public String toString() {
        return name();
    }
}
