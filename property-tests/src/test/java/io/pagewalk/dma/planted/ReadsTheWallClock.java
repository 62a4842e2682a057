package io.pagewalk.dma.planted;

final class ReadsTheWallClock {
    long now() {
        return System.nanoTime();
    }
}
