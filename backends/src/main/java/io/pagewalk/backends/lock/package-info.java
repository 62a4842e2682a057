/** Locks of hot paths. */
@NullMarked
package io.pagewalk.backends.lock;

import org.jspecify.annotations.NullMarked;
