package io.pagewalk.dma.debug;

import org.jspecify.annotations.Nullable;

/**
 * A mapping that was unmapped.
 *
 * @param mapping the mapping as it was
 * @param atNanos when it ended
 * @param owner who ended it, or null
 * @param site where it ended, or null
 */
public record EndedMapping(
        DebugMapping mapping,
        long atNanos,
        @Nullable String owner,
        @Nullable String site) {

    /**
     * Says it in a phrase.
     *
     * @param nowNanos the time of the one who asks
     * @return such as {@code single mapping 0x1000+0x20 TO_DEVICE, unmapped 120 ns ago by fio-326}
     */
    public String describe(long nowNanos) {
        return mapping.describe() + ", unmapped " + (nowNanos - atNanos) + " ns ago"
                + (owner == null ? "" : " by " + owner) + (site == null ? "" : " (" + site + ")");
    }
}
