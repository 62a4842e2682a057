/**
 * Memory of processes that devices may use: pinned, accounted, listed and mapped, {@code ib_umem} of the kernel; and
 * the pages and blocks that a device's tables are made of.
 */
@NullMarked
package io.pagewalk.rdma.umem;

import org.jspecify.annotations.NullMarked;
