package io.pagewalk.backends.iommu.api;

import io.pagewalk.dma.memory.Addresses;

/**
 * Consecutive leaves of a domain's tables, of one size and permission, device and physical addresses advancing
 * together.
 *
 * @param iova device address of the first
 * @param physAddr physical address of the first
 * @param leafBytes bytes of each
 * @param count how many
 * @param perm {@link IommuProt#READ} and {@link IommuProt#WRITE} as they stand in the entries
 */
public record LeafRun(long iova, long physAddr, long leafBytes, long count, int perm) {

    /**
     * How much the run maps.
     *
     * @return bytes
     */
    public long sizeBytes() {
        return leafBytes * count;
    }

    /**
     * Whether a leaf is the next one of this run.
     *
     * @param nextIova its device address
     * @param nextPhysAddr its physical address
     * @param nextBytes its size
     * @param nextPerm its permissions
     * @return true when the run can take it
     */
    public boolean continuesWith(long nextIova, long nextPhysAddr, long nextBytes, int nextPerm) {
        return nextBytes == leafBytes
                && nextPerm == perm
                && nextIova == iova + sizeBytes()
                && nextPhysAddr == physAddr + sizeBytes();
    }

    /**
     * The run with one more leaf.
     *
     * @return a longer run
     */
    public LeafRun longer() {
        return new LeafRun(iova, physAddr, leafBytes, count + 1, perm);
    }

    /**
     * The permissions in letters.
     *
     * @return {@code rw}, {@code r-} or {@code -w}
     */
    public String permText() {
        return ((perm & IommuProt.READ) != 0 ? "r" : "-") + ((perm & IommuProt.WRITE) != 0 ? "w" : "-");
    }

    @Override
    public String toString() {
        return Addresses.hex(iova) + " -> " + Addresses.hex(physAddr) + " " + count + " x " + Addresses.hex(leafBytes)
                + " " + permText();
    }
}
