package io.pagewalk.rdma.model;

import io.pagewalk.dma.Errno;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.SendWr;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What keys lead to, by sections 10.5 to 10.7 of the specification. */
final class ModelKeys {
    private static final int REMOTE = AccessFlags.REMOTE_READ | AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC;
    private static final int WINDOW_RIGHTS = REMOTE
            | AccessFlags.LOCAL_WRITE
            | AccessFlags.MW_BIND
            | AccessFlags.ON_DEMAND
            | AccessFlags.FLUSH_GLOBAL
            | AccessFlags.FLUSH_PERSISTENT
            | AccessFlags.ZERO_BASED
            | 0x3ff00000;

    final ModelRules rules;
    final List<ModelRegion> regions = new ArrayList<>();
    final List<ModelWindow> windows = new ArrayList<>();

    ModelKeys(ModelRules rules) {
        this.rules = rules;
    }

    /** A region behind a remote key, and what has to be added to addresses. */
    record Found(ModelRegion region, long offset) {}

    ModelRegion of(Mr mr) {
        return regions.stream().filter(r -> r.mr == mr).findFirst().orElseThrow();
    }

    private @Nullable ModelRegion at(int key) {
        return regions.stream().filter(r -> r.index == key >>> 8).findFirst().orElse(null);
    }

    private @Nullable ModelRegion atRemote(int key) {
        return regions.stream()
                .filter(r -> r.remoteIndex == key >>> 8)
                .findFirst()
                .orElse(null);
    }

    private @Nullable ModelWindow windowAt(int key) {
        return windows.stream().filter(w -> w.index == key >>> 8).findFirst().orElse(null);
    }

    private boolean grants(ModelRegion region, int pd, int access) {
        boolean rights =
                rules.isFirst() ? access == 0 || (region.access & access) != 0 : (region.access & access) == access;
        return region.valid && region.pd == pd && rights;
    }

    /** rdma:RXE-34. */
    @Nullable ModelRegion local(int pd, int key, int access) {
        ModelRegion region = at(key);
        return region != null && region.lkey == key && grants(region, pd, access) ? region : null;
    }

    /** rdma:RXE-34, RXE-50, RXE-51. */
    @Nullable Found remote(ModelQp qp, int key, int access) {
        ModelWindow window = windowAt(key);
        if (window != null) {
            return throughWindow(window, qp, key, access);
        }
        ModelRegion region = atRemote(key);
        return region != null && region.rkey == key && grants(region, qp.pd, access) ? new Found(region, 0) : null;
    }

    private static @Nullable Found throughWindow(ModelWindow window, ModelQp qp, int key, int access) {
        ModelRegion region = window.region;
        if (window.rkey != key
                || window.pd != qp.pd
                || (!window.isType1() && window.qp != qp)
                || window.length == 0
                || (window.access & access) != access
                || !window.valid
                || region == null) {
            return null;
        }
        return new Found(region, (window.access & AccessFlags.ZERO_BASED) == 0 ? 0 : window.addr);
    }

    /** rdma:RXE-42, RXE-43, RXE-49. */
    int invalidate(int key) {
        ModelWindow window = windowAt(key);
        if (window != null) {
            return invalidateWindow(window, key);
        }
        ModelRegion region = atRemote(key) == null ? at(key) : atRemote(key);
        if (region == null) {
            return -Errno.EINVAL;
        }
        if (!rules.isFirst()) {
            int expected = (region.access & REMOTE) != 0 ? region.rkey : region.lkey;
            if (key != expected || region.windows > 0 || region.type != MrType.MEM_REG) {
                return -Errno.EINVAL;
            }
        }
        region.valid = false;
        return 0;
    }

    private int invalidateWindow(ModelWindow window, int key) {
        if (window.rkey != key || window.isType1()) {
            return -Errno.EINVAL;
        }
        if (!window.valid && rules.hasTwoKeys()) {
            return -Errno.EINVAL;
        }
        if (!window.valid) {
            throw new ModelBug("a free window was invalidated");
        }
        window.free();
        return 0;
    }

    /** rdma:RXE-46 to RXE-48. */
    int bind(ModelQp qp, SendWr wr) {
        ModelWindow window = windowAt(wr.mwRkey());
        if (window == null || window.rkey != wr.mwRkey()) {
            return -Errno.EINVAL;
        }
        ModelRegion region = null;
        if (wr.mwLengthBytes() != 0) {
            region = at(wr.mrLkey());
            if (region == null || region.lkey != wr.mrLkey()) {
                return -Errno.EINVAL;
            }
        }
        if ((wr.access() & ~WINDOW_RIGHTS) != 0) {
            return -Errno.EOPNOTSUPP;
        }
        if (!mayBind(window, region, qp, wr)) {
            return -Errno.EINVAL;
        }
        window.rkey = (window.rkey & ~0xff) | (wr.rkey() & 0xff);
        window.access = wr.access();
        window.addr = wr.mwAddr();
        window.length = wr.mwLengthBytes();
        window.valid = true;
        window.attach(region);
        if (!window.isType1()) {
            window.qp = qp;
        }
        return 0;
    }

    private boolean mayBind(ModelWindow window, @Nullable ModelRegion region, ModelQp qp, SendWr wr) {
        boolean zeroBased = (wr.access() & AccessFlags.ZERO_BASED) != 0;
        if (window.isType1() ? !window.valid || zeroBased : window.valid || region == null) {
            return false;
        }
        if (qp.pd != window.pd) {
            return false;
        }
        if (region == null) {
            return true;
        }
        int changing = wr.access() & (AccessFlags.REMOTE_WRITE | AccessFlags.REMOTE_ATOMIC);
        if (qp.pd != region.pd
                || (region.access & AccessFlags.ZERO_BASED) != 0
                || (region.access & AccessFlags.MW_BIND) == 0
                || (changing != 0 && (region.access & AccessFlags.LOCAL_WRITE) == 0)) {
            return false;
        }
        if (rules.hasTwoKeys()) {
            return region.holds(zeroBased ? region.iova : wr.mwAddr(), wr.mwLengthBytes());
        }
        long end = wr.mwAddr() + wr.mwLengthBytes();
        return zeroBased
                ? Long.compareUnsigned(wr.mwLengthBytes(), region.length) <= 0
                : Long.compareUnsigned(wr.mwAddr(), region.iova) >= 0
                        && Long.compareUnsigned(end, region.iova + region.length) <= 0;
    }
}
