/**
 * What a device may see of memory while a driver maps and unmaps, asked by jcstress of every interleaving it can
 * provoke.
 */
@NullMarked
package io.pagewalk.stress;

import org.jspecify.annotations.NullMarked;
