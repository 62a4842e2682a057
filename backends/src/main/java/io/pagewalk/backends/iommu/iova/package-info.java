/** Device addresses: the range tree of one domain, the per-CPU caches in front of it, and the two together. */
@NullMarked
package io.pagewalk.backends.iommu.iova;

import org.jspecify.annotations.NullMarked;
