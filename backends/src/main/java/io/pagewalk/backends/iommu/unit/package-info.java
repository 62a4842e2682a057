/**
 * The IOMMU hardware: registers, root and context tables, IOTLB, invalidation queue and fault records. It reads memory
 * bytes and registers only.
 */
@NullMarked
package io.pagewalk.backends.iommu.unit;

import org.jspecify.annotations.NullMarked;
