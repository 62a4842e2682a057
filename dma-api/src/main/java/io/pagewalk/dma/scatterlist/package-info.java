/** Scatterlists as tables of arrays: how they are allocated in chunks, made of pages, walked, copied and split. */
@NullMarked
package io.pagewalk.dma.scatterlist;

import org.jspecify.annotations.NullMarked;
