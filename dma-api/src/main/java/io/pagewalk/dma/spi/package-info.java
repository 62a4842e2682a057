/** What a backend implements: the driver's operations, the bus's translation, and how it is found and inspected. */
@NullMarked
package io.pagewalk.dma.spi;

import org.jspecify.annotations.NullMarked;
