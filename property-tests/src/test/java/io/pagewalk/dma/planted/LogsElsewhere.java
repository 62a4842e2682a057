package io.pagewalk.dma.planted;

import java.util.logging.Logger;

final class LogsElsewhere {
    void log() {
        Logger.getLogger("dma").info("mapped");
    }
}
