package io.pagewalk.rdma.verbs;

/** How signatures lie among data: {@code enum ib_signature_type}. */
public enum SigType {
    /** No signatures. */
    NONE,
    /** T10 DIF: eight bytes behind each block. */
    T10_DIF
}
