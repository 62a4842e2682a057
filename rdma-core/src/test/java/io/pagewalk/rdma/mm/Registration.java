package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import java.util.Arrays;

/** The pinning half of a registration, in batches of 512 pages, as rdma:UMEM-15 and UMEM-18 have it. */
final class Registration {
    private static final int BATCH = 512;
    private static final int WRITABLE = 0x1 | 0x2 | 0x8 | 0x10;

    final int result;
    final long[] pfns;
    private final Process process;
    private final boolean writable;

    private Registration(Process process, boolean writable, int result, long[] pfns) {
        this.process = process;
        this.writable = writable;
        this.result = result;
        this.pfns = pfns;
    }

    static Registration of(Process process, long address, long length, int access) {
        boolean writable = (access & WRITABLE) != 0;
        int flags = process.machine().kernelModel() == io.pagewalk.dma.KernelModel.LINUX_5
                ? GupFlags.LONGTERM | GupFlags.WRITE | (writable ? 0 : GupFlags.FORCE)
                : GupFlags.LONGTERM | (writable ? GupFlags.WRITE : 0);
        long first = address & Addresses.PAGE_MASK;
        int pages = (int) ((Addresses.alignUp(address + length, Addresses.PAGE_SIZE) - first) >>> Addresses.PAGE_SHIFT);
        long[] pfns = new long[pages];
        long[] batch = new long[BATCH];
        int done = 0;
        while (done < pages) {
            int wanted = Math.min(BATCH, pages - done);
            int taken = process.pinUserPagesFast(first + ((long) done << Addresses.PAGE_SHIFT), wanted, flags, batch);
            if (taken < 0) {
                pins(process).unpinUserPagesDirtyLock(pfns, done, false);
                return new Registration(process, writable, taken, Arrays.copyOf(pfns, 0));
            }
            System.arraycopy(batch, 0, pfns, done, taken);
            done += taken;
        }
        return new Registration(process, writable, 0, pfns);
    }

    static Pins pins(Process process) {
        return UserMemory.of(process.machine()).pins();
    }

    void release() {
        pins(process).unpinUserPagesDirtyLock(pfns, pfns.length, writable);
    }

    @Override
    public String toString() {
        return result == 0 ? pfns.length + " pages" : Errno.name(result);
    }
}
