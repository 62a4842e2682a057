package io.pagewalk.dma.debug;

import org.jspecify.annotations.Nullable;

/**
 * A device as dma-debug knows it. Two are the same device when they are equal.
 *
 * @param name its name
 * @param driver the name of its driver, or null when there is none or nobody said
 * @param bus the name of its bus, or null
 */
public record DebugDevice(
        String name, @Nullable String driver, @Nullable String bus) {
    /**
     * What stands before the name in messages (dma-core:DBG-7).
     *
     * @return the driver, else the bus, else nothing
     */
    public String driverString() {
        if (driver != null) {
            return driver;
        }
        return bus == null ? "" : bus;
    }
}
