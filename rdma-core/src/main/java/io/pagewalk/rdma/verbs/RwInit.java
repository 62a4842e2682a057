package io.pagewalk.rdma.verbs;

/**
 * What a queue pair of the kernel's says of the rdma_rw contexts that will run on it. Immutable.
 *
 * @param maxRdmaCtxs {@code max_rdma_ctxs}: how many contexts may be posted at once; 0 for none
 * @param portNum {@code port_num}: the port that the queue pair will use, from 1
 * @param createFlags {@code create_flags}: 0 or {@link #INTEGRITY_EN}
 */
public record RwInit(int maxRdmaCtxs, int portNum, int createFlags) {
    /** A create flag: contexts with signatures too. */
    public static final int INTEGRITY_EN = 0x40;

    /** No contexts. */
    public static final RwInit NONE = new RwInit(0, 1, 0);

    /** Refuses negative numbers and unknown flags. */
    public RwInit {
        if (maxRdmaCtxs < 0 || portNum < 0 || (createFlags & ~INTEGRITY_EN) != 0) {
            throw new IllegalArgumentException("no queue pair has " + maxRdmaCtxs + " contexts, port " + portNum
                    + " and create flags 0x" + Integer.toHexString(createFlags));
        }
    }

    /**
     * Contexts on port 1 without signatures.
     *
     * @param maxRdmaCtxs how many may be posted at once
     * @return the description
     */
    public static RwInit of(int maxRdmaCtxs) {
        return new RwInit(maxRdmaCtxs, 1, 0);
    }

    /**
     * With signatures.
     *
     * @return the description
     */
    public RwInit withIntegrity() {
        return new RwInit(maxRdmaCtxs, portNum, INTEGRITY_EN);
    }

    /**
     * Whether there are signatures.
     *
     * @return {@code integrity_en}
     */
    public boolean hasIntegrity() {
        return (createFlags & INTEGRITY_EN) != 0;
    }
}
