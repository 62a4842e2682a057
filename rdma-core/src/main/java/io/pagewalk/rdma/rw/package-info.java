/** Transfers of the kernel's, {@code rdma_rw}: reads and writes of a peer's memory from and into scatterlists. */
@NullMarked
package io.pagewalk.rdma.rw;

import org.jspecify.annotations.NullMarked;
