/** Scatterlists as tables of arrays. */
@NullMarked
package io.pagewalk.dma.scatterlist;

import org.jspecify.annotations.NullMarked;
