/** virt-dma: DMA addresses are kernel virtual addresses that never leave software. */
@NullMarked
package io.pagewalk.backends.virt;

import org.jspecify.annotations.NullMarked;
