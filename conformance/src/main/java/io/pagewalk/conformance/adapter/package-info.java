/** One adapter for each family of vectors: it turns what a line asks into calls of the library. */
@NullMarked
package io.pagewalk.conformance.adapter;

import org.jspecify.annotations.NullMarked;
