package io.pagewalk.rdma.rxe;

import io.pagewalk.rdma.umem.Umem;

/**
 * Memory of a process as rxe has registered it.
 *
 * @param index its number in the pool: what its keys begin with (rdma:RXE-7)
 * @param umem the pinned memory
 * @param access rights, of {@link io.pagewalk.rdma.AccessFlags}
 */
public record RxeMr(int index, Umem umem, int access) {}
