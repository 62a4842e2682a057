package io.pagewalk.rdma.i40iw;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.Errno;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.AccessFlags;
import io.pagewalk.rdma.qp.MemoryRegions;
import io.pagewalk.rdma.qp.Region;
import io.pagewalk.rdma.qp.RemoteRef;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.Pd;
import io.pagewalk.rdma.verbs.Qp;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The adapter's own table of stags: commands of its driver fill it, work requests look into it. Stag 0 is all memory,
 * for domains of the kernel.
 *
 * <p>Implements rdma:IRD-3, IRD-5, IRD-7, IRD-9 as far as commands go. Thread-safe: lookups take no lock.
 */
final class AdapterStags implements MemoryRegions {
    private static final int GIGABYTE_SHIFT = 30;
    private static final int MEGABYTES_SHIFT = 21;
    private static final long GIGABYTE = 1L << GIGABYTE_SHIFT;
    private static final long U32 = 0xffff_ffffL;
    private static final long TWO_MEGABYTES = 1L << MEGABYTES_SHIFT;

    private final I40iwConfig config;
    private final boolean first;
    private final Device device;
    private final StagTable stags;
    private final PbleManager pbles;
    private final CommandQueue commands;
    private final AtomicReferenceArray<StagEntry> entries;
    private final Object lock = new Object();
    private volatile @Nullable StagEntry reserved;

    AdapterStags(I40iwConfig config, Device device, StagTable stags, PbleManager pbles, CommandQueue commands) {
        this.config = config;
        first = config.generation() == Generation.I40IW;
        this.device = device;
        this.stags = stags;
        this.pbles = pbles;
        this.commands = commands;
        entries = new AtomicReferenceArray<>(config.maxMr());
    }

    // ---- commands

    /** Gives a command its request; i40iw has one answer for all that goes wrong with registrations (rdma:IRD-9). */
    private int answer(int error) {
        return error != 0 && first ? -Errno.ENOMEM : error;
    }

    /** ALLOC_STAG for fast registration (rdma:IRD-3). */
    int allocStag(Pd pd, int stag, long totalBytes) {
        int error = commands.take();
        if (error != 0) {
            return error;
        }
        try {
            error = !first && totalBytes == 0 ? -Errno.EINVAL : commands.run();
        } finally {
            commands.give();
        }
        if (error == 0) {
            entries.set(stags.index(stag), StagEntry.fast(device.bus(), pbles, pd, stag));
        }
        return answer(error);
    }

    /** ALLOC_STAG for a window. */
    int allocWindow(Pd pd, int stag) {
        int error = command();
        if (error == 0) {
            entries.set(stags.index(stag), StagEntry.window(device.bus(), pbles, pd, stag));
        }
        return error;
    }

    /** A registration of all memory (rdma:IRD-8). */
    int registerAll(Pd pd, int stag, int access) {
        int error = command();
        if (error == 0) {
            StagEntry entry = StagEntry.region(device.bus(), pbles, pd, stag);
            entry.coverAll(access);
            entries.set(stags.index(stag), entry);
        }
        return answer(error);
    }

    /** A registration (rdma:IRD-7). */
    int register(I40iwMr mr, Pd pd, long iova, long lengthBytes) {
        int error = commands.take();
        if (error != 0) {
            return error;
        }
        try {
            error = refuse(mr, lengthBytes);
            error = error == 0 ? commands.run() : error;
        } finally {
            commands.give();
        }
        if (error == 0) {
            StagEntry entry = StagEntry.region(device.bus(), pbles, pd, mr.stag());
            entry.cover(iova, lengthBytes, shiftOf(mr.pageSize()), mr.access());
            if (mr.list().level() == 0) {
                entry.at(mr.firstAddr());
            } else {
                entry.listed(
                        mr.list().level() == 1 ? StagEntry.LEVEL_1 : StagEntry.LEVEL_2,
                        mr.list().index());
            }
            entries.set(stags.index(mr.stag()), entry);
        }
        return answer(error);
    }

    private int refuse(I40iwMr mr, long lengthBytes) {
        long pageSize = mr.pageSize();
        boolean unknownSize = pageSize != Addresses.PAGE_SIZE && pageSize != TWO_MEGABYTES && pageSize != GIGABYTE;
        boolean empty = !first && lengthBytes == 0;
        boolean beyond =
                mr.list().level() != 0 && Integer.toUnsignedLong(mr.list().index()) >= config.maxPbles();
        return unknownSize || empty || beyond ? -Errno.EINVAL : 0;
    }

    /** 1 GiB and 2 MiB are sizes of their own, all else is 4 KiB (rdma:IRD-5). */
    private static int shiftOf(long pageSize) {
        if (pageSize == GIGABYTE) {
            return GIGABYTE_SHIFT;
        }
        return pageSize == TWO_MEGABYTES ? MEGABYTES_SHIFT : Addresses.PAGE_SHIFT;
    }

    private int command() {
        int error = commands.take();
        if (error != 0) {
            return error;
        }
        try {
            return commands.run();
        } finally {
            commands.give();
        }
    }

    /** DEALLOC_STAG; i40iw goes on whatever the adapter says, unless it cannot even ask (rdma:IRD-8, IRD-9). */
    int deallocStag(int stag) {
        int error = commands.take();
        if (error != 0) {
            return error;
        }
        try {
            error = commands.run();
        } finally {
            commands.give();
        }
        if (error != 0 && !first) {
            return error;
        }
        StagEntry entry = entries.getAndSet(stags.index(stag), null);
        if (entry != null && !entry.drain()) {
            device.machine()
                    .log()
                    .warn(
                            "dealloc_stag",
                            "stag " + Addresses.hex(stag & U32) + " is still held, and goes nevertheless");
        }
        return 0;
    }

    // ---- lookups

    private @Nullable StagEntry find(int stag) {
        int index = stags.index(stag);
        StagEntry entry = index < config.maxMr() ? entries.get(index) : null;
        return entry != null && entry.isNamedBy(stag) ? entry : null;
    }

    /** The stag of all memory, which stays (rdma:STAG-1: its index is never given out). */
    private StagEntry reserved(Pd pd) {
        StagEntry entry = reserved;
        if (entry == null) {
            entry = StagEntry.region(device.bus(), pbles, pd, 0);
            entry.coverAll(AccessFlags.LOCAL_WRITE);
            reserved = entry;
        }
        return entry;
    }

    @Override
    public @Nullable Region lookupLocal(Pd pd, int lkey, int access) {
        if (lkey == 0) {
            StagEntry all = reserved(pd);
            return pd.owner().pid() == 0 && all.tryGet() ? all : null;
        }
        return held(pd, find(lkey), access);
    }

    private static @Nullable StagEntry held(Pd pd, @Nullable StagEntry entry, int access) {
        if (entry == null || !entry.tryGet()) {
            return null;
        }
        if (entry.isValid() && entry.pd() == pd && entry.allows(access)) {
            return entry;
        }
        entry.put();
        return null;
    }

    @Override
    public boolean lookupRemote(Qp qp, int rkey, int access, RemoteRef into) {
        StagEntry entry = held(qp.pd(), find(rkey), access);
        if (entry != null) {
            into.set(entry, 0);
        }
        return entry != null;
    }

    @Override
    public boolean lookupAgain(int rkey, RemoteRef into) {
        StagEntry entry = find(rkey);
        if (entry == null || !entry.tryGet()) {
            return false;
        }
        if (entry.isValid()) {
            into.set(entry, 0);
            return true;
        }
        entry.put();
        return false;
    }

    @Override
    public boolean invalidatesReadSinks() {
        return config.iwarp();
    }

    // ---- work requests

    /** REG_MR: what the driver writes into the request, and what the adapter does with it (rdma:IRD-5). */
    @Override
    public int registerFast(Qp qp, Mr mr, int key, int access) {
        if (!(mr instanceof I40iwMr region) || mr.pd().device() != qp.pd().device() || mr.isDestroyed()) {
            return -Errno.EINVAL;
        }
        if (pbles.isClosed()) {
            return -Errno.EINVAL;
        }
        synchronized (lock) {
            StagEntry entry = entries.get(stags.index(region.stag()));
            boolean refused = entry == null
                    || !entry.isFast()
                    || entry.isValid()
                    || !entry.isIndexOf(key)
                    || entry.pd() != qp.pd();
            if (refused) {
                return -Errno.EINVAL;
            }
            entry.rekey(key);
            entry.cover(mr.iova(), mr.lengthBytes(), shiftOf(Integer.toUnsignedLong(mr.pageBytes())), access);
            if (region.pages() > 1) {
                entry.listed(StagEntry.LEVEL_1, region.list().index());
            } else {
                entry.at(pbles.get(region.list().index()));
            }
            return 0;
        }
    }

    @Override
    public int invalidate(Qp qp, int key) {
        synchronized (lock) {
            StagEntry entry = find(key);
            if (entry == null || !entry.isFast()) {
                return -Errno.EINVAL;
            }
            entry.invalidate();
            return 0;
        }
    }

    /** The specification does not say how an adapter binds windows. */
    @Override
    public int bindWindow(Qp qp, int mwRkey, int newRkey, int mrLkey, long addr, long lengthBytes, int access) {
        return -Errno.EOPNOTSUPP;
    }
}
