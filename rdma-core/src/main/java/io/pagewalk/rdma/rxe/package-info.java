/** The provider rxe, RDMA in software: how it registers memory. */
@NullMarked
package io.pagewalk.rdma.rxe;

import org.jspecify.annotations.NullMarked;
