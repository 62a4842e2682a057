package io.pagewalk.rdma.verbs;

import java.util.Objects;

/**
 * Where a transfer has signatures: what rdma_rw passes on of {@code struct ib_sig_attrs}. Immutable.
 *
 * @param wire on the wire
 * @param memory in memory
 */
public record SigDomains(SigType wire, SigType memory) {
    /** Refuses nulls. */
    public SigDomains {
        Objects.requireNonNull(wire, "wire");
        Objects.requireNonNull(memory, "memory");
    }
}
