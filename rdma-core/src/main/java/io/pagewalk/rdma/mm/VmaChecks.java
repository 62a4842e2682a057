package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Errno;
import io.pagewalk.dma.KernelModel;

/** What the slow phase of a pin asks of a range before it looks at its pages. Implements rdma:GUP-8. */
final class VmaChecks {
    private VmaChecks() {}

    /** 0, or the negated errno of the first check that fails. */
    static int check(Vma vma, int gupFlags, KernelModel model, ProtectionKeys keys) {
        boolean longterm = (gupFlags & GupFlags.LONGTERM) != 0;
        boolean write = (gupFlags & GupFlags.WRITE) != 0;
        if (vma.has(VmFlags.IO | VmFlags.PFNMAP)) {
            return -Errno.EFAULT;
        }
        if ((gupFlags & GupFlags.ANON) != 0 && !vma.isAnonymous()) {
            return -Errno.EFAULT;
        }
        if (longterm && vma.isKind(FileKind.FSDAX)) {
            return -Errno.EOPNOTSUPP;
        }
        if (vma.isKind(FileKind.SECRETMEM)) {
            return -Errno.EFAULT;
        }
        if (!(write ? allowsWrite(vma, gupFlags, longterm, model) : allowsRead(vma, gupFlags))) {
            return -Errno.EFAULT;
        }
        return keys.allow(vma.protectionKey, write) ? 0 : -Errno.EFAULT;
    }

    private static boolean allowsWrite(Vma vma, int gupFlags, boolean longterm, KernelModel model) {
        if (longterm && vma.needsDirtyTracking() && model.refusesLongtermWritesToTrackedFiles()) {
            return false;
        }
        if (vma.has(VmFlags.WRITE)) {
            return true;
        }
        return isForced(gupFlags) && !vma.isHugetlb() && vma.isCowMapping();
    }

    private static boolean allowsRead(Vma vma, int gupFlags) {
        return vma.has(VmFlags.READ) || (isForced(gupFlags) && vma.has(VmFlags.MAYREAD));
    }

    private static boolean isForced(int gupFlags) {
        return (gupFlags & GupFlags.FORCE) != 0;
    }
}
