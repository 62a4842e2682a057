/** Reads the text of the kernel's DMA, IOMMU and swiotlb trace events, as tracefs, trace-cmd and perf print it. */
@NullMarked
package io.pagewalk.trace;

import org.jspecify.annotations.NullMarked;
