/**
 * Where coherent memory comes from, whatever translates for the device: contiguous areas, and pools prepared before.
 */
@NullMarked
package io.pagewalk.backends.coherent;

import org.jspecify.annotations.NullMarked;
