/** Hostile input to the whole public API: whatever is called with whatever, in any order. */
@NullMarked
package io.pagewalk.hostile;

import org.jspecify.annotations.NullMarked;
