/** Disjoint ranges of pages in order, in arrays: what takes of addresses and owners of mappings are kept in. */
@NullMarked
package io.pagewalk.backends.iommu.range;

import org.jspecify.annotations.NullMarked;
