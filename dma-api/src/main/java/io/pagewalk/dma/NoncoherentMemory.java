package io.pagewalk.dma;

/**
 * Memory that {@code dma_alloc_noncoherent} allocated (dma-core:FE-56).
 *
 * @param cpuAddr the kernel's address, in the direct map
 * @param dmaAddr the device's address
 * @param sizeBytes length as asked for
 */
public record NoncoherentMemory(long cpuAddr, long dmaAddr, long sizeBytes) {}
