package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.INVALID_PHYS_ADDR;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_MASK;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.KernelBugException;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;

/**
 * The copies between buffers and their bounce buffers.
 *
 * <p>Implements dma-core:SWB-1 to SWB-5, SWB-7. Thread-safe as memory is; allocates nothing unless a copy is clipped.
 */
final class BounceCopy {
    private final CpuMemory memory;
    private final KernelLog.Site overflowSite;

    BounceCopy(Machine machine) {
        memory = machine.cpuMemory();
        overflowSite = machine.log().site("swiotlb_bounce: overflow");
    }

    /** Whether a buffer is RAM. */
    boolean isPossible(long physAddr, long sizeBytes) {
        return memory.isRam(physAddr, sizeBytes);
    }

    KernelBugException impossible(Device device, long physAddr, long sizeBytes) {
        return new KernelBugException(
                device.name() + ": a bounce copies " + Addresses.hexRange(physAddr, sizeBytes) + ", which is not RAM");
    }

    /*
     * A bounce address carries the buffer's low bits, and a sync may start anywhere inside the mapping. So the slot says where the
     * buffer's byte for the slot's own first mapped byte is, and the difference of the low bits, which may be negative in every slot but the first, leads to
     * the byte that is meant (SWB-2). The slot's allocation size moves along and limits the copy (SWB-3, SWB-4).
     */
    void copy(IoTlbPool slots, Device device, long tlbAddr, long sizeBytes, boolean toDevice) {
        SlotTable table = slots.table();
        int slot = slots.slotOf(tlbAddr);
        long slotOrig = table.origAddr(slot);
        if (slotOrig == INVALID_PHYS_ADDR) {
            return;
        }
        long offset = (tlbAddr & SLOT_MASK) - (slotOrig & device.minAlignMask() & SLOT_MASK);
        long physAddr = slotOrig + offset;
        long copied = clip(device, table.allocSize(slot) - offset, sizeBytes);
        if (toDevice) {
            memory.copy(physAddr, tlbAddr, copied);
        } else {
            memory.copy(tlbAddr, physAddr, copied);
        }
        table.countBounced(slot, copied);
    }

    private long clip(Device device, long allocatedBytes, long sizeBytes) {
        if (Addresses.lessOrEqual(sizeBytes, allocatedBytes)) {
            return sizeBytes;
        }
        if (overflowSite.isFirst()) {
            overflowSite.warn(device.name() + ": allocation size " + Long.toUnsignedString(allocatedBytes)
                    + ", mapping size " + Long.toUnsignedString(sizeBytes) + " (dma-core:SWB-3)");
        }
        return allocatedBytes;
    }
}
