/** The bounce pool: slots, areas, their search, the copies both ways, and how a boot sizes it all. */
@NullMarked
package io.pagewalk.backends.swiotlb;

import org.jspecify.annotations.NullMarked;
