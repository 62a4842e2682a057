/**
 * dma-debug: finds misuse of the DMA API in a stream of its calls, live or recorded, as the kernel's
 * {@code DMA_API_DEBUG} does, and says what the kernel cannot: what lies next to it and who was there last.
 */
@NullMarked
package io.pagewalk.dma.debug;

import org.jspecify.annotations.NullMarked;
