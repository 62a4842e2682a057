package io.pagewalk.rdma.i40iw;

import io.pagewalk.rdma.mm.Process;

/** Memory of a process whose neighbouring pages are no neighbours in RAM. */
final class Scattered {
    private static final int PAGE = 4096;

    private Scattered() {}

    /** Pages that hold their numbers, touched in an order that sets them apart: each third one, from three starts. */
    static long memory(Process process, int pages) {
        long addr = process.mmap((long) pages * PAGE);
        for (int start = 0; start < 3; start++) {
            for (int page = start; page < pages; page += 3) {
                process.putLong(addr + (long) page * PAGE, page);
            }
        }
        return addr;
    }
}
