package io.pagewalk.backends.iommu.mapping;

import io.pagewalk.backends.direct.PeerPages;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.FailureReason;
import io.pagewalk.dma.PeerToPeer.Route;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.DevicePageMap;
import io.pagewalk.dma.scatterlist.SgTable;

/**
 * Maps a list for one device to one run of device addresses, and merges entries that meet in it.
 *
 * <p>Implements iommu:SG-5 to SG-18, SG-20, SG-21. Thread-safe; allocates nothing but to unwind an error.
 */
final class SgMapper {
    /* Two passes over the list, with the tables filled in between. The first rounds every entry to whole granules in place,
     * keeping what it had in the entry's DMA fields, and pads between entries so that none crosses the device's segment
     * boundary: since the one range of addresses for all is aligned to its size, lengths alone say where boundaries fall
     * (SG-11). The second restores the entries, writes addresses, and merges neighbours that the device can take as one.
     *
     * What looks like slips is the kernel's: an empty entry on a page boundary, whose rounded length 0 makes every padding
     * look smaller than it (SG-8), and a merged length beyond the maximum, after which the 32-bit difference has wrapped and
     * merges have no limit (SG-14).
     */
    private static final long U32 = 0xffff_ffffL;
    private static final long OVERFLOW = -1L;
    private static final long UNREACHABLE = -2L;

    private final Device device;
    private final IommuDomain domain;
    private final DeviceIovas iovas;
    private final PeerPages peers;

    SgMapper(Device device, IommuDomain domain, DeviceIovas iovas) {
        this.device = device;
        this.domain = domain;
        this.iovas = iovas;
        this.peers = new PeerPages(device.machine());
    }

    /**
     * Maps a list.
     *
     * @param cpu the CPU that maps
     * @param sg the list
     * @param nents how many entries
     * @param prot bits of {@code IommuProt}
     * @return the number of DMA segments, or -EINVAL, -ENOMEM or -EREMOTEIO with the cause noted and the list restored
     */
    int map(int cpu, SgTable sg, int nents, int prot) {
        long iovaBytes = pad(sg, nents);
        if (iovaBytes == UNREACHABLE) {
            recordUnreachable(cpu, sg, nents);
            return abort(sg, nents, -Errno.EREMOTEIO);
        }
        if (iovaBytes == OVERFLOW) {
            device.failure(cpu).record(FailureReason.INVALID_LIST, Errno.EINVAL, nents, 0, 0, 0);
            return abort(sg, nents, -Errno.EOVERFLOW);
        }
        if (iovaBytes == 0) {
            return finish(sg, nents, 0);
        }
        long iova = iovas.alloc(cpu, iovaBytes, device.mask());
        if (iova == 0) {
            return abort(sg, nents, -Errno.ENOMEM);
        }
        long mapped = domain.core().mapSg(iova, sg, nents, prot);
        if (mapped < iovaBytes) {
            domain.freeNow(cpu, iova, iovaBytes);
            recordShort(cpu, nents, iova, iovaBytes, mapped);
            return abort(sg, nents, mapped);
        }
        return finish(sg, nents, iova);
    }

    /** Names the first entry that the device does not reach. */
    private void recordUnreachable(int cpu, SgTable sg, int nents) {
        for (int i = 0; i < nents; i++) {
            DevicePageMap peer = peers.mapOf(sg.pageAddr(i));
            if (peer != null && isUnreachable(peers.route(device, peer))) {
                device.failure(cpu)
                        .record(
                                FailureReason.PEER_UNREACHABLE,
                                Errno.EREMOTEIO,
                                sg.physAddr(i),
                                sg.lengthBytes(i),
                                0,
                                0);
                return;
            }
        }
    }

    private static boolean isUnreachable(Route route) {
        return route != Route.BUS_ADDR && route != Route.THRU_HOST_BRIDGE;
    }

    private void recordShort(int cpu, int nents, long iova, long sizeBytes, long mapped) {
        if (mapped < 0) {
            device.failure(cpu).record(FailureReason.TABLE_ERROR, (int) -mapped, iova, sizeBytes, -mapped, 0);
        } else {
            device.failure(cpu).record(FailureReason.INVALID_LIST, Errno.EINVAL, nents, 0, 0, 0);
        }
    }

    /**
     * SG-5 to SG-9; {@link #OVERFLOW} when a length needs more than 32 bits, {@link #UNREACHABLE} for a peer's page.
     */
    private long pad(SgTable sg, int nents) {
        long granuleBytes = domain.granuleBytes();
        long boundaryMask = device.segmentBoundaryMask();
        long iovaBytes = 0;
        int previous = 0;
        for (int i = 0; i < nents; i++) {
            DevicePageMap peer = peers.mapOf(sg.pageAddr(i));
            if (peer != null) {
                Route route = peers.route(device, peer);
                if (route == Route.BUS_ADDR) {
                    markBusAddress(sg, i, peer);
                    continue;
                }
                if (isUnreachable(route)) {
                    return UNREACHABLE;
                }
            }
            long padBytes = (boundaryMask - iovaBytes + 1) & boundaryMask;
            long rounded = round(sg, i, granuleBytes);
            if (rounded > U32) {
                return OVERFLOW;
            }
            if (padBytes != 0 && Addresses.lessThan(padBytes, rounded - 1)) {
                long before = sg.lengthBytes(previous);
                if (Addresses.lessThan(U32 - before, padBytes)) {
                    return OVERFLOW;
                }
                sg.resize(previous, sg.offset(previous), before + padBytes);
                iovaBytes += padBytes;
            }
            iovaBytes += rounded;
            previous = i;
        }
        return iovaBytes;
    }

    /** What a switch delivers needs no translation (iommu:SG-6). */
    private static void markBusAddress(SgTable sg, int entry, DevicePageMap peer) {
        sg.setDma(entry, sg.physAddr(entry) + peer.busOffset(), sg.lengthBytes(entry));
        sg.setBusAddress(entry, true);
    }

    /**
     * Rounds an entry to whole granules, keeping what it had in its DMA fields (SG-7); a length too large is not
     * stored.
     */
    private static long round(SgTable sg, int entry, long granuleBytes) {
        long offset = sg.offset(entry) & (granuleBytes - 1);
        long length = sg.lengthBytes(entry);
        long rounded = Addresses.alignUp(length + offset, granuleBytes);
        sg.setDma(entry, offset, length);
        sg.resize(entry, sg.offset(entry) - offset, rounded > U32 ? length : rounded);
        return rounded;
    }

    /** SG-13 to SG-16. */
    private int finish(SgTable sg, int nents, long base) {
        long boundaryMask = device.segmentBoundaryMask();
        long maxBytes = device.maxSegmentBytes();
        long addr = base;
        long curBytes = 0;
        int cur = -1;
        for (int i = 0; i < nents; i++) {
            long offset = sg.dmaAddr(i);
            long length = sg.dmaLengthBytes(i);
            long span = sg.lengthBytes(i);
            sg.setDma(i, Dma.DMA_MAPPING_ERROR, 0);
            if (sg.isBusAddress(i)) {
                sg.setBusAddress(i, false);
                cur++;
                sg.setDma(cur, offset, length);
                sg.setBusAddress(cur, true);
                curBytes = 0;
                continue;
            }
            sg.resize(i, sg.offset(i) + offset, length);
            boolean merges = curBytes != 0
                    && offset == 0
                    && (addr & boundaryMask) != 0
                    && ((maxBytes - curBytes) & U32) >= length;
            if (merges) {
                curBytes = (curBytes + length) & U32;
                sg.setDma(cur, sg.dmaAddr(cur), curBytes);
            } else {
                cur++;
                curBytes = length;
                sg.setDma(cur, addr + offset, curBytes);
            }
            addr += span;
            if (length + offset < span) {
                curBytes = 0;
            }
        }
        return cur + 1;
    }

    /** SG-17, SG-18: entries that the first pass did not reach lose what their DMA fields happened to hold. */
    private static int abort(SgTable sg, int nents, long error) {
        for (int i = 0; i < nents; i++) {
            if (sg.isBusAddress(i)) {
                sg.setBusAddress(i, false);
            } else {
                long offset = sg.dmaAddr(i) == Dma.DMA_MAPPING_ERROR ? 0 : sg.dmaAddr(i);
                long length = sg.dmaLengthBytes(i) == 0 ? sg.lengthBytes(i) : sg.dmaLengthBytes(i);
                sg.resize(i, sg.offset(i) + offset, length);
            }
            sg.setDma(i, Dma.DMA_MAPPING_ERROR, 0);
        }
        boolean passedOn = error == -Errno.ENOMEM || error == -Errno.EREMOTEIO;
        return passedOn ? (int) error : -Errno.EINVAL;
    }

    /**
     * Unmaps a list: from its first segment up to the first that is empty (iommu:SG-20, SG-21).
     *
     * @param cpu the CPU that unmaps
     * @param sg the list
     * @param nents the count given to map
     */
    void unmap(int cpu, SgTable sg, int nents) {
        long start = 0;
        long end = 0;
        for (int i = 0; i < nents; i++) {
            if (sg.isBusAddress(i)) {
                sg.setBusAddress(i, false);
                continue;
            }
            if (sg.dmaLengthBytes(i) == 0) {
                break;
            }
            start = end == 0 ? sg.dmaAddr(i) : start;
            end = sg.dmaAddr(i) + sg.dmaLengthBytes(i);
        }
        if (end != 0) {
            domain.unmap(cpu, start, end - start);
        }
    }
}
