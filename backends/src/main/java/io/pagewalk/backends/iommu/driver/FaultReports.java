package io.pagewalk.backends.iommu.driver;

/** Told of what the hardware blocked, after the driver has read it from the unit's records. */
@FunctionalInterface
public interface FaultReports {
    /**
     * Takes a report.
     *
     * @param requesterId who asked: bus, device and function
     * @param pageIova the page of the address
     * @param write whether it was a write
     * @param reason the hardware's number
     */
    void reported(int requesterId, long pageIova, boolean write, int reason);
}
