/** The kernel's command line, as backends read their parts of it. */
@NullMarked
package io.pagewalk.backends.boot;

import org.jspecify.annotations.NullMarked;
