package io.pagewalk.kit;

import io.pagewalk.dma.DeviceConfig;
import java.util.List;

/**
 * What two drivers and their devices do on one machine.
 *
 * @param first one device
 * @param second another one
 * @param steps in order
 */
public record DmaProgram(DeviceConfig first, DeviceConfig second, List<DmaStep> steps) {
    /**
     * Copies the steps.
     *
     * @param first one device
     * @param second another one
     * @param steps in order
     */
    public DmaProgram {
        steps = List.copyOf(steps);
    }
}
