package io.pagewalk.rdma.mm;

import io.pagewalk.dma.memory.Addresses;

/** Thrown where a process would be given a signal for touching memory. */
public final class MemoryFaultException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** What happened. */
    private final Fault fault;

    /** Where. */
    private final long address;

    MemoryFaultException(Fault fault, long address) {
        super(signalOf(fault) + " at " + Addresses.hex(address));
        this.fault = fault;
        this.address = address;
    }

    private static String signalOf(Fault fault) {
        return switch (fault) {
            case DONE -> "nothing";
            case SEGV -> "SIGSEGV";
            case BUS -> "SIGBUS, no page,";
            case HWPOISON -> "SIGBUS, memory error,";
            case OOM -> "SIGKILL, out of memory,";
        };
    }

    /**
     * What happened.
     *
     * @return never {@link Fault#DONE}
     */
    public Fault fault() {
        return fault;
    }

    /**
     * Where.
     *
     * @return the first address that could not be accessed
     */
    public long address() {
        return address;
    }
}
