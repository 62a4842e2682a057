package io.pagewalk.rdma.umem;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.dma.spi.DmaOps;
import java.util.ArrayList;
import java.util.List;

/** Operations of a device that map everything where it is, and note how lists are mapped and unmapped. */
final class RecordingOps implements DmaOps {
    final List<String> calls = new ArrayList<>();

    @Override
    public long mapPage(Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs) {
        return physAddr;
    }

    @Override
    public void unmapPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, int attrs) {
        // Nothing was taken.
    }

    @Override
    public int mapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        calls.add("map " + direction + " 0x" + Integer.toHexString(attrs) + " cpu " + cpu);
        for (int i = 0; i < nents; i++) {
            sg.setDma(i, sg.physAddr(i), sg.lengthBytes(i));
        }
        return nents;
    }

    @Override
    public void unmapSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs) {
        calls.add("unmap " + direction + " 0x" + Integer.toHexString(attrs) + " cpu " + cpu);
    }
}
