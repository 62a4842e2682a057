/** What a line of a vector file is made of: what is asked, what was answered, and how answers are compared. */
@NullMarked
package io.pagewalk.conformance.format;

import org.jspecify.annotations.NullMarked;
