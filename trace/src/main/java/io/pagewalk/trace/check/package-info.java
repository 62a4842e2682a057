/** Misuse of the DMA API in a recorded trace: its events, with the addresses that were recorded, through dma-debug. */
@org.jspecify.annotations.NullMarked
package io.pagewalk.trace.check;
