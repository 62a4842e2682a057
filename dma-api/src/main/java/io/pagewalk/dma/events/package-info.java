/** Listening to the DMA API: one listener, off by default at no cost, and the ledger of live mappings built on it. */
@NullMarked
package io.pagewalk.dma.events;

import org.jspecify.annotations.NullMarked;
