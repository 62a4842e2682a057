/** The arrows of the architecture, and what no class may do, held by ArchUnit. */
@NullMarked
package io.pagewalk.kit.architecture;

import org.jspecify.annotations.NullMarked;
