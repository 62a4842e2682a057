/** RDMA memory registration: process memory and pinning, umem, and the verbs that stand on them. */
module io.pagewalk.rdma {
    requires transitive io.pagewalk.dma;
    requires static transitive org.jspecify;

    exports io.pagewalk.rdma;
    exports io.pagewalk.rdma.i40iw;
    exports io.pagewalk.rdma.mm;
    exports io.pagewalk.rdma.qp;
    exports io.pagewalk.rdma.rw;
    exports io.pagewalk.rdma.rxe;
    exports io.pagewalk.rdma.umem;
    exports io.pagewalk.rdma.verbs;
}
