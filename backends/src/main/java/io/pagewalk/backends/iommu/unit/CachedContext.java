package io.pagewalk.backends.iommu.unit;

import io.pagewalk.dma.memory.Addresses;

/** A context entry as the context cache holds it: valid, decoded, and perhaps out of date. Immutable. */
final class CachedContext {
    final int domainId;
    final boolean passThrough;
    final boolean recordsFaults;
    final long root;
    final int levels;
    final long lastAddr;

    /** Decodes an entry for which {@link #reason} is 0. */
    CachedContext(long low, long high, VtdFeatures features) {
        int agaw = ContextLayout.agaw(high);
        domainId = ContextLayout.domainId(high);
        passThrough = ContextLayout.translationType(low) == ContextLayout.TT_PASS_THROUGH;
        recordsFaults = !ContextLayout.disablesFaults(low);
        root = ContextLayout.pointer(low);
        levels = VtdCapability.levelsOfAgaw(agaw);
        lastAddr = Addresses.bitMask(Math.min(features.widthBits(), VtdCapability.widthOfAgaw(agaw)));
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
