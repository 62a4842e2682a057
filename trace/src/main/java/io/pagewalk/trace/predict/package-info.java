/** Predicts the DMA addresses of a recorded trace: what the recording kernel gave out, from what its boot log tells. */
@org.jspecify.annotations.NullMarked
package io.pagewalk.trace.predict;
