package io.pagewalk.rdma.verbs;

/**
 * Signature attributes of an integrity region (rdma:FR-3): how many entries its data and its metadata may have.
 * Immutable.
 *
 * @param maxDataEntries entries of data
 * @param maxMetaEntries entries of metadata
 */
public record SigAttrs(int maxDataEntries, int maxMetaEntries) {}
