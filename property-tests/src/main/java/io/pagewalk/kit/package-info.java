/**
 * The property kit for DMA backends.
 *
 * <p>Three lines put a backend to the test: implement {@link io.pagewalk.kit.DmaBackendContract} and name it.
 * {@link io.pagewalk.kit.AllBackendsContract} finds every backend that the class path offers. Properties of one's own
 * take their values from {@link io.pagewalk.kit.DmaArbitraries} through {@link io.pagewalk.kit.Law}.
 */
@NullMarked
package io.pagewalk.kit;

import org.jspecify.annotations.NullMarked;
