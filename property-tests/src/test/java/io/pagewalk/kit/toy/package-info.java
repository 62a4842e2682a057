/** A backend of the tests' own, on the class path only. */
@NullMarked
package io.pagewalk.kit.toy;

import org.jspecify.annotations.NullMarked;
