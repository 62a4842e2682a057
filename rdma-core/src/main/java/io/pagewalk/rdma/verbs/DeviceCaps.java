package io.pagewalk.rdma.verbs;

/**
 * Capabilities of a device that decide which rights a registration may carry (rdma:ACC-2, ACC-5).
 *
 * @param onDemandPaging whether it registers memory without pinning it
 * @param flushGlobal whether a peer may flush to global visibility
 * @param flushPersistent whether a peer may flush to persistence
 */
public record DeviceCaps(boolean onDemandPaging, boolean flushGlobal, boolean flushPersistent) {}
