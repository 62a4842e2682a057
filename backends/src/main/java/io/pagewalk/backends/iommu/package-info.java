/** The IOMMU backends. */
@NullMarked
package io.pagewalk.backends.iommu;

import org.jspecify.annotations.NullMarked;
