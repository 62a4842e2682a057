/**
 * What an IOMMU offers beyond the DMA API: {@code iommu_map} and its relatives on domains of one's own, reserved
 * regions, and a look into every domain. Begin with {@link io.pagewalk.backends.iommu.api.Iommu#of}.
 */
@NullMarked
package io.pagewalk.backends.iommu.api;

import org.jspecify.annotations.NullMarked;
