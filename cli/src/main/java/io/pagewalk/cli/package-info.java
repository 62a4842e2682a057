/** The {@code pagewalk} command. */
@NullMarked
package io.pagewalk.cli;

import org.jspecify.annotations.NullMarked;
