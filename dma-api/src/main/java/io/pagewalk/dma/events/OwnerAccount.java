package io.pagewalk.dma.events;

/**
 * What one owner holds.
 *
 * @param owner the owner's tag; empty for all that nobody tagged
 * @param mappings live mappings, each segment of a list by itself
 * @param mappedBytes their bytes
 * @param allocations live allocations
 * @param allocatedBytes their bytes, as asked for
 */
public record OwnerAccount(String owner, long mappings, long mappedBytes, long allocations, long allocatedBytes) {
    static OwnerAccount none(String owner) {
        return new OwnerAccount(owner, 0, 0, 0, 0);
    }

    OwnerAccount and(LiveRange range) {
        return range.kind().isAllocation()
                ? new OwnerAccount(owner, mappings, mappedBytes, allocations + 1, allocatedBytes + range.sizeBytes())
                : new OwnerAccount(owner, mappings + 1, mappedBytes + range.sizeBytes(), allocations, allocatedBytes);
    }
}
