package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_BYTES;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_MASK;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_SHIFT;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.memory.Addresses;

/**
 * One contiguous pool of bounce slots, {@code io_tlb_pool}: where it lies, its areas, and who has which slot.
 *
 * <p>Implements dma-core:SWC-20, SWS-1 to SWS-13, SWS-20, SWR-1 to SWR-7. Thread-safe: an area's lock guards its slots,
 * and no call holds two of them.
 */
final class IoTlbPool {
    static final int NONE = -1;

    private final long start;
    private final int areaSlots;
    private final IoTlbArea[] areas;
    private final SlotTable table;
    private final SlotUsage usage;
    private final boolean transientPool;

    /** Makes the first pool of an allocator. */
    IoTlbPool(long start, int slots, int areaCount) {
        this(start, slots, areaCount, new SlotUsage(), false);
    }

    private IoTlbPool(long start, int slots, int areaCount, SlotUsage usage, boolean transientPool) {
        if (areaCount < 1 || slots / areaCount < 1) {
            throw new IllegalArgumentException("a pool of " + slots + " slots cannot have " + areaCount + " areas");
        }
        this.start = start;
        this.areaSlots = slots / areaCount;
        this.areas = new IoTlbArea[areaCount];
        for (int i = 0; i < areaCount; i++) {
            areas[i] = new IoTlbArea();
        }
        this.table = new SlotTable(slots);
        this.usage = usage;
        this.transientPool = transientPool;
    }

    /** Makes one more pool of an allocator, whose slots count together with the others' (SWD-3). */
    static IoTlbPool grown(long start, int slots, int areaCount, SlotUsage usage) {
        return new IoTlbPool(start, slots, areaCount, usage, false);
    }

    /** Makes a pool for one mapping (SWD-4). */
    static IoTlbPool forOneMapping(long start, int slots, SlotUsage usage) {
        return new IoTlbPool(start, slots, 1, usage, true);
    }

    /** Whether the pool goes away with its one mapping (SWD-6). */
    boolean isTransient() {
        return transientPool;
    }

    long start() {
        return start;
    }

    int slots() {
        return table.slots();
    }

    int areaCount() {
        return areas.length;
    }

    int areaSlots() {
        return areaSlots;
    }

    /** Slots of some pools together. */
    static int slots(IoTlbPool[] pools) {
        int slots = 0;
        for (IoTlbPool pool : pools) {
            slots += pool.slots();
        }
        return slots;
    }

    /** How many bytes were ever copied in some pools. */
    static long bouncedBytes(IoTlbPool[] pools) {
        long bytes = 0;
        for (IoTlbPool pool : pools) {
            bytes += pool.table.bouncedBytes();
        }
        return bytes;
    }

    IoTlbArea area(int number) {
        return areas[number];
    }

    SlotTable table() {
        return table;
    }

    SlotUsage usage() {
        return usage;
    }

    boolean contains(long physAddr) {
        return Addresses.lessThan(physAddr - start, sizeBytes());
    }

    long sizeBytes() {
        return table.slots() * SLOT_BYTES;
    }

    int slotOf(long tlbAddr) {
        return (int) ((tlbAddr - start) >>> SLOT_SHIFT);
    }

    long addressOf(int slot) {
        return start + slot * SLOT_BYTES;
    }

    /*
     * The search. A CPU starts in its own area and goes on round the ring of areas, each once. In an area it starts where the
     * last success ended (next fit), and tries slot after slot until as many as the area has were passed.
     *
     * A slot is tried in two ways. First its address: the slot's DMA address must be a multiple of the allocation's
     * alignment (alignMask), and must equal the original in those bits of min_align_mask that lie above it (ioTlbAlignMask).
     * A slot that is wrong there is stepped over by one. Then its neighbours: the run of free slots must be long enough, and must not
     * cross the device's segment boundary. If not, the next slot with the same low address bits lies a whole stride further on.
     *
     * The kernel's search is lossy, and so is this one. It wraps to slot 0 instead of reducing modulo the area, so that after a
     * wrap its steps may fall beside the slots with the right bits, while the budget shrinks by the stride all the
     * same: a suitable free slot may be missed. And the pool's DMA address is masked with the boundary before the slot's
     * offset is added unmasked, so alignment beyond the boundary is not seen. Addresses only repeat those of a kernel if
     * all of this is kept.
     */

    /**
     * Takes slots for a device.
     *
     * @return the address of the first slot, or all ones
     */
    long allocate(Device device, int cpu, long origAddr, long allocSize, long alignMask) {
        int slot = allocate(
                cpu,
                origAddr,
                allocSize,
                alignMask,
                device.minAlignMask(),
                device.physToDmaUnencrypted(start),
                device.segmentBoundaryMask());
        return slot == NONE ? SwiotlbLayout.INVALID_PHYS_ADDR : addressOf(slot);
    }

    /** Takes slots of one area for a device, likewise. */
    long allocateIn(int number, Device device, long origAddr, long allocSize, long alignMask) {
        int slot = allocateIn(
                number,
                origAddr,
                allocSize,
                alignMask,
                device.minAlignMask(),
                device.physToDmaUnencrypted(start),
                device.segmentBoundaryMask());
        return slot == NONE ? SwiotlbLayout.INVALID_PHYS_ADDR : addressOf(slot);
    }

    /**
     * Takes slots.
     *
     * @return the first slot, or {@link #NONE}
     */
    int allocate(
            int cpu,
            long origAddr,
            long allocSize,
            long alignMask,
            long minAlignMask,
            long poolDmaAddr,
            long boundary) {
        requireSearchable(origAddr, allocSize, boundary);
        int first = cpu & (areas.length - 1);
        int number = first;
        do {
            int slot = allocateIn(number, origAddr, allocSize, alignMask, minAlignMask, poolDmaAddr, boundary);
            if (slot != NONE) {
                return slot;
            }
            number = number + 1 == areas.length ? 0 : number + 1;
        } while (number != first);
        return NONE;
    }

    /** What no search could answer is a BUG (SWM-12, SWS-1). */
    static void requireSearchable(long origAddr, long allocSize, long boundary) {
        if (allocSize == 0) {
            throw new KernelBugException("a bounce of " + Addresses.hex(origAddr) + " needs no slot (dma-core:SWM-12)");
        }
        requirePowerOfTwo(boundary);
    }

    private static void requirePowerOfTwo(long boundary) {
        long boundarySlots = boundarySlots(boundary);
        if (Long.bitCount(boundarySlots) != 1) {
            throw new KernelBugException("segment boundary " + Addresses.hex(boundary) + " holds " + boundarySlots
                    + " slots, no power of two (dma-core:SWS-1)");
        }
    }

    private static long boundarySlots(long boundary) {
        return (boundary >>> SLOT_SHIFT) + 1;
    }

    private int allocateIn(
            int number,
            long origAddr,
            long allocSize,
            long alignMask,
            long minAlignMask,
            long poolDmaAddr,
            long boundary) {
        IoTlbArea area = areas[number];
        area.lock();
        try {
            int slot = search(number, origAddr, allocSize, alignMask, minAlignMask, poolDmaAddr & boundary, boundary);
            if (slot != NONE) {
                claim(area, number, slot, allocSize, origAddr & minAlignMask & SLOT_MASK);
            }
            return slot;
        } finally {
            area.unlock();
        }
    }

    private int search(
            int number,
            long origAddr,
            long allocSize,
            long allocAlignMask,
            long minAlignMask,
            long tblDmaAddr,
            long boundary) {
        IoTlbArea area = areas[number];
        long needed = SwiotlbLayout.slots(allocSize);
        if (Addresses.lessThan((long) areaSlots - area.used(), needed)) {
            return NONE;
        }
        int count = (int) needed;
        long alignMask = alignMask(allocSize, allocAlignMask, minAlignMask);
        long ioTlbAlignMask = minAlignMask & ~alignMask;
        int stride = (int) Math.min(Addresses.max(alignMask, ioTlbAlignMask) >>> SLOT_SHIFT, areaSlots) + 1;
        long origBits = origAddr & ioTlbAlignMask;
        long comparedBits = origAddr == 0 ? 0 : ioTlbAlignMask;
        long boundarySlots = boundarySlots(boundary);
        long firstBoundarySlot = SwiotlbLayout.slots(tblDmaAddr);
        int base = number * areaSlots;
        int index = area.index();
        for (int checked = 0; checked < areaSlots; ) {
            int slot = base + index;
            long dmaAddr = tblDmaAddr + slot * SLOT_BYTES;
            if ((dmaAddr & alignMask) != 0 || (dmaAddr & comparedBits) != origBits) {
                index = wrap(index + 1);
                checked++;
                continue;
            }
            long boundarySlot = (firstBoundarySlot + slot) & (boundarySlots - 1);
            if (boundarySlot + count <= boundarySlots && table.freeRun(slot) >= count) {
                return slot;
            }
            index = wrap(index + stride);
            checked += stride;
        }
        return NONE;
    }

    /** Requests of a page and more have always been page-aligned, unless the device says what it wants (SWS-2). */
    static long alignMask(long allocSize, long allocAlignMask, long minAlignMask) {
        boolean pageRule =
                allocAlignMask == 0 && minAlignMask == 0 && Addresses.lessOrEqual(Addresses.PAGE_SIZE, allocSize);
        return (pageRule ? Addresses.PAGE_SIZE - 1 : allocAlignMask) | SLOT_MASK;
    }

    /** To zero, not modulo (SWS-5). */
    private int wrap(int index) {
        return index >= areaSlots ? 0 : index;
    }

    private void claim(IoTlbArea area, int number, int slot, long allocSize, long lowBits) {
        int count = (int) SwiotlbLayout.slots(allocSize);
        table.claim(slot, count, allocSize - lowBits);
        area.startNextSearchAt(wrap(slot - number * areaSlots + count));
        area.addUsed(count);
        usage.add(count);
    }

    /** Gives back the slots of a mapping by its bounce address (SWR-1 to SWR-5). */
    void release(long tlbAddr, long minAlignMask) {
        long lowBits = tlbAddr & minAlignMask & SLOT_MASK;
        long mapped = (tlbAddr - lowBits - start) >>> SLOT_SHIFT;
        if (!Addresses.lessThan(mapped, table.slots())) {
            throw outside(tlbAddr);
        }
        int first = (int) mapped - table.padSlots((int) mapped);
        int number = first / areaSlots;
        if (number >= areas.length) {
            throw outside(tlbAddr);
        }
        releaseIn(areas[number], first, lowBits);
    }

    private KernelBugException outside(long tlbAddr) {
        return new KernelBugException("release of " + Addresses.hex(tlbAddr) + ", which is in no area of the pool at "
                + Addresses.hexRange(start, sizeBytes()) + " (dma-core:SWR-1)");
    }

    private void releaseIn(IoTlbArea area, int first, long lowBits) {
        int count = (int) SwiotlbLayout.slots(table.allocSize(first) + lowBits);
        area.lock();
        try {
            table.release(first, count);
            area.addUsed(-count);
        } finally {
            area.unlock();
        }
        usage.subtract(count);
    }
}
