package io.pagewalk.rdma.verbs;

/** Calls that a provider may lack; the core answers -EOPNOTSUPP for those before it looks at anything else. */
public enum ProviderOp {
    /** {@code reg_user_mr}. */
    REG_USER_MR,
    /** {@code rereg_user_mr}. */
    REREG_USER_MR,
    /** {@code alloc_mr}. */
    ALLOC_MR,
    /** {@code map_mr_sg}. */
    MAP_MR_SG,
    /** {@code alloc_mr_integrity}. */
    ALLOC_MR_INTEGRITY,
    /** {@code map_mr_sg_pi}. */
    MAP_MR_SG_PI,
    /** {@code check_mr_status}. */
    CHECK_MR_STATUS,
    /** {@code alloc_mw} and {@code dealloc_mw}. */
    ALLOC_MW,
    /** {@code advise_mr}. */
    ADVISE_MR,
    /** {@code reg_dm_mr}. */
    REG_DM_MR,
    /** {@code reg_user_mr_dmabuf}. */
    REG_DMABUF_MR
}
