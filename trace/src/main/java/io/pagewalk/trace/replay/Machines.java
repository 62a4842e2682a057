package io.pagewalk.trace.replay;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.spi.BackendOptions;
import io.pagewalk.dma.spi.DmaBackends;
import java.util.ArrayList;
import java.util.List;

/** Makes the machines of a replay, one for each backend, all alike but for that. */
final class Machines {
    /** In which steps memory is backed: small, since buffers lie scattered and come and go. */
    static final int CHUNK_BYTES = 1 << 16;

    private Machines() {}

    static List<BackendRun> create(ReplayOptions options, MachineLayout layout, int cpus) {
        List<BackendRun> runs = new ArrayList<>();
        for (DmaBackends.Found found : chosen(options.backends())) {
            Machine machine = machine(found.name(), options.machine(), layout, cpus);
            runs.add(new BackendRun(
                    runs.size(), found.name(), found.summary(), machine, options.touch(), options.timing()));
        }
        return runs;
    }

    private static List<DmaBackends.Found> chosen(List<String> names) {
        return names.isEmpty()
                ? DmaBackends.all()
                : names.stream().map(DmaBackends::byName).toList();
    }

    private static Machine machine(String backend, MachineSpec spec, MachineLayout layout, int cpus) {
        return Machine.builder()
                .ram(layout.ram())
                .chunkBytes(CHUNK_BYTES)
                .allocatable(layout.allocatable())
                .cpus(cpus)
                .commandLine("swiotlb=" + spec.swiotlbSlots() + "," + MachineLayout.poolAreas(spec, cpus))
                .hostBridgeWindows(spec.iommuReserved())
                .backend(backend)
                .backendOptions(BackendOptions.NONE
                        .with("swiotlb.poolBase", layout.poolBase())
                        .with("iommu.widthBits", spec.iommuWidthBits()))
                .build();
    }
}
