/** Tests of dma-debug. */
@org.jspecify.annotations.NullMarked
package io.pagewalk.dma.debug;
