package io.pagewalk.backends.direct.planted;

import io.pagewalk.dma.memory.PhysicalMemory;

final class BypassesTheCpu {
    byte read(PhysicalMemory memory) {
        return memory.getByte(0);
    }
}
