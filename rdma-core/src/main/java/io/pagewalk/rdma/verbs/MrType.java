package io.pagewalk.rdma.verbs;

/** Kinds of memory regions, in the order of their numbers (rdma:MR-2). */
public enum MrType {
    /** For fast registration: pages come by a work request. */
    MEM_REG,
    /** For fast registration of pages with gaps. */
    SG_GAPS,
    /** Memory of the device. */
    DM,
    /** Memory of a process. */
    USER,
    /** All memory of the kernel, by DMA address. */
    DMA,
    /** With signatures. */
    INTEGRITY
}
