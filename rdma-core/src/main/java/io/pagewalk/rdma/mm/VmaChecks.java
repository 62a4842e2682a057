package io.pagewalk.rdma.mm;

import io.pagewalk.dma.KernelModel;
import org.jspecify.annotations.Nullable;

/** What the slow phase of a pin asks of a range before it looks at its pages. Implements rdma:GUP-8. */
final class VmaChecks {
    private VmaChecks() {}

    /** 0, or the negated errno of the first check that fails. */
    static int check(Vma vma, int gupFlags, KernelModel model, ProtectionKeys keys) {
        PinRefusal.Cause refusal = refusal(vma, gupFlags, model, keys);
        return refusal == null ? 0 : -refusal.errno();
    }

    /** The first check that fails, null when none does. */
    static PinRefusal.@Nullable Cause refusal(Vma vma, int gupFlags, KernelModel model, ProtectionKeys keys) {
        boolean longterm = (gupFlags & GupFlags.LONGTERM) != 0;
        boolean write = (gupFlags & GupFlags.WRITE) != 0;
        if (vma.has(VmFlags.IO | VmFlags.PFNMAP)) {
            return PinRefusal.Cause.DEVICE_MEMORY;
        }
        if ((gupFlags & GupFlags.ANON) != 0 && !vma.isAnonymous()) {
            return PinRefusal.Cause.NOT_ANONYMOUS;
        }
        if (longterm && vma.isKind(FileKind.FSDAX)) {
            return PinRefusal.Cause.FSDAX;
        }
        if (vma.isKind(FileKind.SECRETMEM)) {
            return PinRefusal.Cause.SECRETMEM;
        }
        PinRefusal.Cause access = write ? writeRefusal(vma, gupFlags, longterm, model) : readRefusal(vma, gupFlags);
        if (access != null) {
            return access;
        }
        return keys.allow(vma.protectionKey, write) ? null : PinRefusal.Cause.PROTECTION_KEY;
    }

    private static PinRefusal.@Nullable Cause writeRefusal(Vma vma, int gupFlags, boolean longterm, KernelModel model) {
        if (longterm && vma.needsDirtyTracking() && model.refusesLongtermWritesToTrackedFiles()) {
            return PinRefusal.Cause.TRACKED_FILE;
        }
        boolean allowed = vma.has(VmFlags.WRITE) || (isForced(gupFlags) && !vma.isHugetlb() && vma.isCowMapping());
        return allowed ? null : PinRefusal.Cause.NOT_WRITABLE;
    }

    private static PinRefusal.@Nullable Cause readRefusal(Vma vma, int gupFlags) {
        boolean allowed = vma.has(VmFlags.READ) || (isForced(gupFlags) && vma.has(VmFlags.MAYREAD));
        return allowed ? null : PinRefusal.Cause.NOT_READABLE;
    }

    private static boolean isForced(int gupFlags) {
        return (gupFlags & GupFlags.FORCE) != 0;
    }
}
