package io.pagewalk.trace.replay;

import io.pagewalk.dma.memory.Addresses;

/**
 * A trace maps physical memory where the replaying machine has none, or its own. The message says which address of
 * which device in which line, what lies there, and the field of the machine file to change.
 */
public final class AddressCollisionException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    AddressCollisionException(
            long lineNumber, String device, long physAddr, long sizeBytes, String what, String field) {
        super("line " + lineNumber + ": " + device + " maps physical " + Addresses.hexRange(physAddr, sizeBytes) + ", "
                + what + "; change \"" + field + "\" in the machine file");
    }
}
