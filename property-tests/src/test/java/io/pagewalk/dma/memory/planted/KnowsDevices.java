package io.pagewalk.dma.memory.planted;

import io.pagewalk.dma.DeviceConfig;

final class KnowsDevices {
    DeviceConfig device() {
        return DeviceConfig.named("planted");
    }
}
