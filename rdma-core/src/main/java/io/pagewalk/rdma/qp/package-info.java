/**
 * The data path: reliable queue pairs over a link inside the process. It knows no provider; keys and memory come from
 * {@link io.pagewalk.rdma.qp.MemoryRegions}.
 */
@NullMarked
package io.pagewalk.rdma.qp;

import org.jspecify.annotations.NullMarked;
