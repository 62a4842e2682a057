package io.pagewalk.dma.planted;

final class CountsGlobally {
    static int count;

    private CountsGlobally() {}
}
