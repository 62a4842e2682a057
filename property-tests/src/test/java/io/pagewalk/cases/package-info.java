/** Situations from real bug reports, each with its numbers; {@code docs/cases.md} lists them all. */
@NullMarked
package io.pagewalk.cases;

import org.jspecify.annotations.NullMarked;
