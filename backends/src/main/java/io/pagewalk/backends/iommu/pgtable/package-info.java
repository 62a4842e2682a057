/** Page tables as real bytes in emulated memory, behind a format SPI; VT-d second stage first. */
@NullMarked
package io.pagewalk.backends.iommu.pgtable;

import org.jspecify.annotations.NullMarked;
