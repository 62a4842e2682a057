/** Replays golden vectors against the library and says, family by family, what agrees. */
@NullMarked
package io.pagewalk.conformance;

import org.jspecify.annotations.NullMarked;
