/**
 * Process memory: address spaces and their areas, page tables from virtual address to page frame, limits, and the
 * pinning of pages.
 */
@NullMarked
package io.pagewalk.rdma.mm;

import org.jspecify.annotations.NullMarked;
