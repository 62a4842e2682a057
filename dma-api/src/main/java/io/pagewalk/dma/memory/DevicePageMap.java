package io.pagewalk.dma.memory;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The kernel's {@code pgmap}: one driver's claim on pages of a device's own memory. Pages of two maps never merge into
 * one scatterlist entry, even side by side (dma-core:SGA-4). A map is itself and equals no other. Immutable.
 */
public final class DevicePageMap {

    /** What the pages are good for. */
    public enum Kind {
        /** Device memory without rules of its own for peers. */
        GENERIC,
        /** Memory of a PCI device that other PCI devices may reach without the CPU (dma-core:DIR-33). */
        PCI_P2PDMA
    }

    private final String name;
    private final Kind kind;
    private final @Nullable String providerName;
    private final long busOffset;

    private DevicePageMap(String name, Kind kind, @Nullable String providerName, long busOffset) {
        this.name = Objects.requireNonNull(name, "name");
        this.kind = kind;
        this.providerName = providerName;
        this.busOffset = busOffset;
    }

    /**
     * Makes a map of pages that no peer reaches by bus address.
     *
     * @param name what messages call it
     * @return the map
     */
    public static DevicePageMap generic(String name) {
        return new DevicePageMap(name, Kind.GENERIC, null, 0);
    }

    /**
     * Makes a map of pages that a PCI device offers to its peers.
     *
     * @param name what messages call it
     * @param providerName the name of the device whose memory it is
     * @param busOffset what the bus adds to a physical address of these pages, modulo 2^64
     * @return the map
     */
    public static DevicePageMap pciP2pDma(String name, String providerName, long busOffset) {
        Objects.requireNonNull(providerName, "providerName");
        return new DevicePageMap(name, Kind.PCI_P2PDMA, providerName, busOffset);
    }

    /**
     * What messages call it.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /**
     * What the pages are good for.
     *
     * @return the kind
     */
    public Kind kind() {
        return kind;
    }

    /**
     * Whose memory it is.
     *
     * @return the device's name, or null for a generic map
     */
    public @Nullable String providerName() {
        return providerName;
    }

    /**
     * What the bus adds to a physical address.
     *
     * @return an offset modulo 2^64, 0 for a generic map
     */
    public long busOffset() {
        return busOffset;
    }

    @Override
    public String toString() {
        return kind == Kind.GENERIC
                ? name
                : name + " of " + providerName + " at bus offset " + Addresses.hex(busOffset);
    }
}
