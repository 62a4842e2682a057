package io.pagewalk.rdma.i40iw;

/**
 * PBLEs in a row that an allocation holds.
 *
 * @param index of the first, from the base of the device's PBLEs on: what commands to the device carry
 * @param count how many were asked for
 * @param fpmAddr where the first lies
 * @param chunk where they come from
 * @param granule the first granule there
 */
record PbleRun(int index, int count, long fpmAddr, PbleChunk chunk, int granule) {
    int granules() {
        return PbleManager.granules(count);
    }
}
