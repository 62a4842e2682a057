package io.pagewalk.dma.planted;

final class Prints {
    void print() {
        System.out.println("mapped");
    }
}
