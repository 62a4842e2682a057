package io.pagewalk.dma;

/**
 * The machine's PCI topology, as the kernel's P2PDMA layer judges it: how one device reaches memory of another. Source:
 * dma-core:DIR-33.
 */
@FunctionalInterface
public interface PeerToPeer {
    /** How a client reaches a provider. */
    enum Route {
        /** Not at all. */
        NOT_SUPPORTED,
        /** Through switches below the host bridge, by bus address. */
        BUS_ADDR,
        /** Through the host bridge, like memory. */
        THRU_HOST_BRIDGE
    }

    /**
     * Judges a pair of devices. Asked only for PCI clients and providers that the machine has.
     *
     * @param client the device that maps
     * @param provider the device whose memory it is
     * @return the route
     */
    Route route(Device client, Device provider);
}
