package io.pagewalk.backends.coherent;

import io.pagewalk.dma.Device;

/** What physical memory a device reaches. */
@FunctionalInterface
public interface PhysReach {
    /** That of a device whose addresses are translated. */
    PhysReach EVERYTHING = (device, physAddr, sizeBytes) -> true;

    /**
     * Says whether a device reaches memory.
     *
     * @param device the device
     * @param physAddr first byte
     * @param sizeBytes length
     * @return true when it reaches all of it
     */
    boolean reaches(Device device, long physAddr, long sizeBytes);
}
