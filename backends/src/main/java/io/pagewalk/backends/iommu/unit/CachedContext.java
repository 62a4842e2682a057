package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.memory.Addresses;
import java.util.stream.IntStream;

/**
 * A context entry as the context cache holds it, decoded and perhaps out of date; or why there is none to go by.
 * Immutable.
 */
final class CachedContext {
    private static final CachedContext[] FAILURES = failures(true);
    private static final CachedContext[] SILENT_FAILURES = failures(false);

    /** Why requests are blocked, 0 when they are not. */
    final int reason;

    final int domainId;

    /** Whether nothing is looked up in tables: addresses pass, or are blocked for a reason. */
    final boolean passThrough;

    final boolean recordsFaults;
    final long root;
    final int levels;
    final long lastAddr;

    /** Decodes an entry for which {@link #reason} is 0. */
    CachedContext(long low, long high, VtdFeatures features) {
        int agaw = ContextLayout.agaw(high);
        reason = 0;
        domainId = ContextLayout.domainId(high);
        passThrough = ContextLayout.translationType(low) == ContextLayout.TT_PASS_THROUGH;
        recordsFaults = !ContextLayout.disablesFaults(low);
        root = ContextLayout.pointer(low);
        levels = VtdCapability.levelsOfAgaw(agaw);
        lastAddr = Addresses.bitMask(Math.min(features.widthBits(), VtdCapability.widthOfAgaw(agaw)));
    }

    /** A failure; its domain is 0, as that of what caching mode remembers (iommu:INV-1). */
    private CachedContext(int reason, boolean recordsFaults) {
        this.reason = reason;
        this.recordsFaults = recordsFaults;
        domainId = 0;
        passThrough = true;
        root = 0;
        levels = 0;
        lastAddr = -1L;
    }

    private static CachedContext[] failures(boolean recorded) {
        return IntStream.rangeClosed(0, VtdFaultReason.CONTEXT_RESERVED)
                .mapToObj(reason -> new CachedContext(reason, recorded))
                .toArray(CachedContext[]::new);
    }

    /** What blocks every request for a reason, 1 to 0xb; always the same. */
    static CachedContext failure(int reason, boolean recordsFaults) {
        return (recordsFaults ? FAILURES : SILENT_FAILURES)[reason];
    }

    /** Decodes an entry, or says why it cannot be used. */
    static CachedContext of(long low, long high, VtdFeatures features) {
        int reason = reason(low, high, features);
        return reason == 0
                ? new CachedContext(low, high, features)
                : failure(reason, !ContextLayout.isPresent(low) || !ContextLayout.disablesFaults(low));
    }

    /** Why an entry cannot be used, or 0 (iommu:FLT-5). */
    static int reason(long low, long high, VtdFeatures features) {
        if (!ContextLayout.isPresent(low)) {
            return VtdFaultReason.CONTEXT_NOT_PRESENT;
        }
        if (ContextLayout.contextHasReservedBits(low, high, -1L << features.hostBits())) {
            return VtdFaultReason.CONTEXT_RESERVED;
        }
        return isValid(low, high, features) ? 0 : VtdFaultReason.CONTEXT_INVALID;
    }

    /** There is no device-TLB in this unit. */
    private static boolean isValid(long low, long high, VtdFeatures features) {
        int type = ContextLayout.translationType(low);
        boolean knownType =
                type == ContextLayout.TT_TABLES || (type == ContextLayout.TT_PASS_THROUGH && features.passThrough());
        return knownType && VtdCapability.supportsAgaw(VtdCapability.cap(features), ContextLayout.agaw(high));
    }
}
