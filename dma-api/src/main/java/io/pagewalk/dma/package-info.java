/** Machines, devices, the driver-facing DMA API and the device-facing bus. */
@NullMarked
package io.pagewalk.dma;

import org.jspecify.annotations.NullMarked;
