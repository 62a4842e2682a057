/** What a machine holds at one moment, as records and text. */
@NullMarked
package io.pagewalk.dma.held;

import org.jspecify.annotations.NullMarked;
