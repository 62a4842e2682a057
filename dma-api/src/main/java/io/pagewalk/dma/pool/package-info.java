/** Pools of small blocks of coherent memory: {@code dma_pool}. */
@NullMarked
package io.pagewalk.dma.pool;

import org.jspecify.annotations.NullMarked;
