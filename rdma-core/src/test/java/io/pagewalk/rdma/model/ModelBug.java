package io.pagewalk.rdma.model;

/** What the kernel itself would not survive (rdma:RXE-49). */
final class ModelBug extends RuntimeException {
    private static final long serialVersionUID = 1L;

    ModelBug(String text) {
        super(text);
    }
}
