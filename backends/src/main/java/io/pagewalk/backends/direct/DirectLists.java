package io.pagewalk.backends.direct;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.PeerToPeer.Route;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * Streaming mappings of lists, entry by entry: nothing merges.
 *
 * <p>Implements dma-core:DIR-22, DIR-30 to DIR-34. Thread-safe; allocates nothing.
 */
final class DirectLists {
    private final DirectStreaming streaming;
    private final DirectRefusal refusal;
    private final PeerPages peers;

    DirectLists(DirectCore core, DirectStreaming streaming) {
        this.streaming = streaming;
        this.refusal = core.refusal();
        this.peers = core.peers();
    }

    /** Entry by entry; what a peer's bus address reaches is not mapped at all (DIR-30, DIR-33, DIR-34). */
    int map(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        DevicePageMap judged = null;
        Route route = Route.NOT_SUPPORTED;
        for (int i = 0; i < nents; i++) {
            DevicePageMap peer = peers.mapOf(sg.pageAddr(i));
            if (peer != null) {
                route = peer == judged ? route : peers.route(device, peer);
                judged = peer;
                if (route == Route.BUS_ADDR) {
                    sg.setDma(i, sg.physAddr(i) + peer.busOffset(), sg.lengthBytes(i));
                    sg.setBusAddress(i, true);
                    continue;
                }
                if (route != Route.THRU_HOST_BRIDGE) {
                    refusal.peerPage(device, cpu, sg.physAddr(i), sg.lengthBytes(i));
                    return undo(device, cpu, sg, i, direction, attrs, Errno.EREMOTEIO);
                }
            }
            long lengthBytes = sg.lengthBytes(i);
            long dmaAddr = streaming.map(device, cpu, sg.physAddr(i), lengthBytes, direction, attrs, refusal.sgSite());
            if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
                sg.setDma(i, dmaAddr, sg.dmaLengthBytes(i));
                return undo(device, cpu, sg, i, direction, attrs, Errno.EIO);
            }
            sg.setDma(i, dmaAddr, lengthBytes);
        }
        return nents;
    }

    /** Bounce buffers are released without a copy back; addresses and lengths stay as they are (DIR-31). */
    private int undo(Device device, int cpu, SgTable sg, int mapped, DmaDirection direction, int attrs, int errno) {
        unmap(device, cpu, sg, mapped, direction, attrs | DmaAttrs.SKIP_CPU_SYNC);
        device.failure(cpu).answer(errno);
        return -errno;
    }

    void unmap(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        for (int i = 0; i < nents; i++) {
            if (sg.isBusAddress(i)) {
                sg.setBusAddress(i, false);
            } else {
                streaming.unmap(device, cpu, sg.dmaAddr(i), sg.dmaLengthBytes(i), direction, attrs);
            }
        }
    }

    /** By the entries' CPU lengths, bus addresses of peers not skipped (DIR-22). */
    void syncForCpu(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        for (int i = 0; i < nents; i++) {
            streaming.syncForCpu(device, cpu, sg.dmaAddr(i), sg.lengthBytes(i), direction, false);
        }
        streaming.syncForCpuAll(device);
    }

    void syncForDevice(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        for (int i = 0; i < nents; i++) {
            streaming.syncForDevice(device, cpu, sg.dmaAddr(i), sg.lengthBytes(i), direction);
        }
    }
}
