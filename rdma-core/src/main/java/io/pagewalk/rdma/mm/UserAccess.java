package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import java.util.Arrays;

/**
 * A process's own reads and writes, page by page: through the page table, with faults where it does not allow them.
 * What is not RAM reads as ones and swallows writes. Callers hold the lock.
 */
final class UserAccess {
    private final CpuMemory bytes;
    private final FaultHandler faults;
    private final ProtectionKeys noKeys = new ProtectionKeys(0);

    UserAccess(CpuMemory bytes, FaultHandler faults) {
        this.bytes = bytes;
        this.faults = faults;
    }

    Fault read(Process process, long address, byte[] dst, int offset, int length) {
        int done = 0;
        while (done < length) {
            Fault fault = touch(process, address + done, false);
            if (fault != Fault.DONE) {
                return process.faulted(fault, address + done);
            }
            int part = inPage(address + done, length - done);
            long physAddr = physAddr(process, address + done);
            if (bytes.isRam(physAddr, part)) {
                bytes.read(physAddr, dst, offset + done, part);
            } else {
                Arrays.fill(dst, offset + done, offset + done + part, (byte) -1);
            }
            done += part;
        }
        return Fault.DONE;
    }

    Fault write(Process process, long address, byte[] src, int offset, int length) {
        int done = 0;
        while (done < length) {
            Fault fault = touch(process, address + done, true);
            if (fault != Fault.DONE) {
                return process.faulted(fault, address + done);
            }
            int part = inPage(address + done, length - done);
            long physAddr = physAddr(process, address + done);
            if (bytes.isRam(physAddr, part)) {
                bytes.write(physAddr, src, offset + done, part);
            }
            done += part;
        }
        return Fault.DONE;
    }

    private static int inPage(long address, int length) {
        return (int) Math.min(length, Addresses.PAGE_SIZE - (address & ~Addresses.PAGE_MASK));
    }

    private static long physAddr(Process process, long address) {
        long pte = process.addressSpace().table().get(address >>> Addresses.PAGE_SHIFT);
        return (Pte.pfn(pte) << Addresses.PAGE_SHIFT) | (address & ~Addresses.PAGE_MASK);
    }

    /** Makes a page ready for an access, as the processor and the page fault do together. */
    Fault touch(Process process, long address, boolean write) {
        if (!Addresses.lessThan(address, Mapper.TASK_SIZE)) {
            return Fault.SEGV;
        }
        AddressSpace space = process.addressSpace();
        long vpn = address >>> Addresses.PAGE_SHIFT;
        ProtectionKeys keys = process.protectionKeys();
        if (isAllowed(space, vpn, write, keys)) {
            return Fault.DONE;
        }
        Vma vma = space.vmas().find(address);
        if (vma == null || !(write ? vma.has(VmFlags.WRITE) : vma.isAccessible())) {
            return Fault.SEGV;
        }
        if (!keys.allow(vma.protectionKey, write)) {
            return Fault.SEGV;
        }
        Fault fault = faults.handle(space, vma, vpn, write ? FaultHandler.WRITE : 0);
        if (fault == Fault.DONE && !isAllowed(space, vpn, write, noKeys)) {
            throw new IllegalStateException("a fault at " + Addresses.hex(address) + " left no usable entry");
        }
        return fault;
    }

    private static boolean isAllowed(AddressSpace space, long vpn, boolean write, ProtectionKeys keys) {
        long pte = space.table().get(vpn);
        long needed = write ? Pte.PRESENT | Pte.WRITE : Pte.PRESENT;
        if ((pte & needed) != needed || !keys.allow(Pte.protectionKey(pte), write)) {
            return false;
        }
        long touched = pte | Pte.ACCESSED | (write ? Pte.DIRTY : 0);
        if (touched != pte) {
            space.table().set(vpn, touched);
        }
        return true;
    }
}
