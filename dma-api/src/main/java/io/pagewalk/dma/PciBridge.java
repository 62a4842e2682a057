package io.pagewalk.dma;

import org.jspecify.annotations.Nullable;

/**
 * A PCI bridge or port above devices, as far as an IOMMU's groups depend on it (iommu:GRP-1). Immutable.
 *
 * @param requesterId its own requester id, 0 to 0xffff
 * @param alias the requester id under which it passes requests from below on, or {@link #KEEPS_IDS}
 * @param isolates whether it has and enforces ACS: source validation, redirection of requests and completions, upstream
 *     forwarding
 * @param upstream the bridge above it, or null on a root bus
 */
public record PciBridge(
        int requesterId,
        int alias,
        boolean isolates,
        @Nullable PciBridge upstream) {
    /** Stands for "requests pass under the ids of their devices". */
    public static final int KEEPS_IDS = -1;

    private static final int HIGHEST_ID = 0xffff;

    /**
     * Checks the ids.
     *
     * @throws IllegalArgumentException when one is not 16-bit
     */
    public PciBridge {
        if (requesterId < 0 || requesterId > HIGHEST_ID) {
            throw new IllegalArgumentException("requester id " + requesterId + " of a bridge is not 16-bit");
        }
        if (alias < KEEPS_IDS || alias > HIGHEST_ID) {
            throw new IllegalArgumentException("alias " + alias + " of a bridge is not 16-bit");
        }
    }

    /**
     * A PCI Express port: requests keep their ids.
     *
     * @param requesterId its requester id
     * @param isolates whether it enforces ACS
     * @return the port, on a root bus
     */
    public static PciBridge port(int requesterId, boolean isolates) {
        return new PciBridge(requesterId, KEEPS_IDS, isolates, null);
    }

    /**
     * A bridge from PCI Express to conventional PCI: requests from below carry device 0 of the bus below.
     *
     * @param requesterId its requester id
     * @param secondaryBus number of the bus below, 0 to 255
     * @return the bridge, on a root bus
     */
    public static PciBridge toConventional(int requesterId, int secondaryBus) {
        return new PciBridge(requesterId, secondaryBus << 8, false, null);
    }

    /**
     * A bridge between buses of conventional PCI: requests from below carry its own id.
     *
     * @param requesterId its requester id
     * @return the bridge, on a root bus
     */
    public static PciBridge conventional(int requesterId) {
        return new PciBridge(requesterId, requesterId, false, null);
    }

    /**
     * Puts the bridge below another one.
     *
     * @param bridge the bridge above
     * @return a changed copy
     */
    public PciBridge below(PciBridge bridge) {
        return new PciBridge(requesterId, alias, isolates, bridge);
    }

    /**
     * Tells whether nothing on the way from here to the root lets devices reach each other.
     *
     * @return true when this bridge and all above it enforce ACS
     */
    public boolean isIsolatedToRoot() {
        return isolates && (upstream == null || upstream.isIsolatedToRoot());
    }
}
