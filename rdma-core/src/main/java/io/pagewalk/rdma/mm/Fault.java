package io.pagewalk.rdma.mm;

/** What came of a process touching an address, or of a page being faulted in (rdma:MM-11). */
public enum Fault {
    /** The page is there. */
    DONE,
    /** There is no memory at the address, or not for this: SIGSEGV. */
    SEGV,
    /** The file ends before the address: SIGBUS. */
    BUS,
    /** The memory was lost to a hardware error: SIGBUS. */
    HWPOISON,
    /** There is no memory left. */
    OOM
}
