package io.pagewalk.backends.direct;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.PeerToPeer;
import io.pagewalk.dma.PeerToPeer.Route;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.memory.DevicePages;
import org.jspecify.annotations.Nullable;

/**
 * Which pages are memory of a PCI device, and how a device reaches them.
 *
 * <p>Implements dma-core:DIR-33. Thread-safe; a lookup is one test while the machine has no such pages.
 */
final class PeerPages {
    private final Machine machine;
    private final DevicePages pages;
    private final @Nullable PeerToPeer judge;

    PeerPages(Machine machine) {
        this.machine = machine;
        this.pages = machine.devicePages();
        this.judge = machine.peerToPeer();
    }

    /** The peer's claim on the page that an address lies in, null for any other memory. */
    @Nullable DevicePageMap mapOf(long physAddr) {
        DevicePageMap map = pages.mapOf(physAddr >>> Addresses.PAGE_SHIFT);
        return map != null && map.kind() == DevicePageMap.Kind.PCI_P2PDMA ? map : null;
    }

    /** How a device reaches a peer's pages. */
    Route route(Device client, DevicePageMap map) {
        String providerName = map.providerName();
        Device provider = providerName == null ? null : machine.device(providerName);
        if (judge == null || provider == null || !client.config().pci()) {
            return Route.NOT_SUPPORTED;
        }
        return judge.route(client, provider);
    }
}
