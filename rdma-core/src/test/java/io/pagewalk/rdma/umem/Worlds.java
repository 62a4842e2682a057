package io.pagewalk.rdma.umem;

import io.pagewalk.dma.DeviceConfig;

/** A world on each backend that a registration can meet. */
final class Worlds {
    private Worlds() {}

    /** On a backend by its name, or with a device that is software. */
    static UmemWorld on(String backend) {
        if (backend.equals("software")) {
            return UmemWorld.software();
        }
        DeviceConfig config = DeviceConfig.named("nic").withMask(-1L);
        if (backend.equals("swiotlb")) {
            return UmemWorld.onBus(UmemWorld.builder(backend).commandLine("swiotlb=8192,force"), config);
        }
        return UmemWorld.onBus(UmemWorld.builder(backend), config);
    }
}
