/** What the kernel's dma-iommu layer and IOMMU core do: domains, mapping loops, invalidation gather, flush queue. */
@NullMarked
package io.pagewalk.backends.iommu.mapping;

import org.jspecify.annotations.NullMarked;
