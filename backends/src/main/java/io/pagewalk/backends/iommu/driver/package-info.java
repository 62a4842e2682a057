/**
 * What the mapping layer asks of the driver of an IOMMU, and the VT-d driver that programs the unit through memory and
 * registers only.
 */
@NullMarked
package io.pagewalk.backends.iommu.driver;

import org.jspecify.annotations.NullMarked;
