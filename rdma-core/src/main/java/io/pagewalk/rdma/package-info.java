/** RDMA devices as memory registration sees them: access rights, and how their DMA addresses are made. */
@NullMarked
package io.pagewalk.rdma;

import org.jspecify.annotations.NullMarked;
