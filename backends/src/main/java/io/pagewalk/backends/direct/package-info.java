/** dma-direct: DMA addresses are physical ones, moved by dma-ranges, and what is out of reach is bounced. */
@NullMarked
package io.pagewalk.backends.direct;

import org.jspecify.annotations.NullMarked;
