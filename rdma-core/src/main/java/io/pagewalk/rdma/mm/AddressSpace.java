package io.pagewalk.rdma.mm;

import java.util.concurrent.atomic.AtomicLong;

/**
 * The kernel's {@code mm}: the ranges of one address space, its page table, what is pinned and locked in it, and who
 * holds it. Its users keep its memory; its structure lives as long as somebody grabbed it, so that what was charged to
 * it can be given back when the process is gone. Implements rdma:MM-1 and MM-18.
 *
 * <p>Thread-safe.
 */
public final class AddressSpace {
    private final UserMemory memory;
    private final PageTable table;
    private final VmaMap vmas;
    private final Zap zap;
    private final AtomicLong pinnedVm = new AtomicLong();
    private long lockedVm;
    private boolean hasPinned;
    private int users = 1;
    /** All users together count as one. */
    private int structureReferences = 1;

    AddressSpace(UserMemory memory) {
        this.memory = memory;
        table = new PageTable(memory.tablePoint(), memory.ramPages());
        vmas = new VmaMap(memory.vmaPoint());
        zap = new Zap(memory, table);
        memory.addressSpaces().add(this);
    }

    // ---- accounting

    /**
     * How many pages registrations have charged: each page as often as it is registered.
     *
     * @return pages, signed
     */
    public long pinnedVm() {
        return pinnedVm.get();
    }

    /**
     * Charges pages.
     *
     * @param pages how many
     * @return how many are charged now
     */
    public long addPinnedVm(long pages) {
        return pinnedVm.addAndGet(pages);
    }

    /**
     * Gives back a charge.
     *
     * @param pages how many
     */
    public void subPinnedVm(long pages) {
        pinnedVm.addAndGet(-pages);
    }

    /**
     * How many pages lie in locked ranges. Registrations neither look at it nor change it (rdma:MM-18).
     *
     * @return pages
     */
    public long lockedVm() {
        synchronized (memory.lock()) {
            return lockedVm;
        }
    }

    /**
     * Whether a page of it was ever pinned, or that was tried: MMF_HAS_PINNED.
     *
     * @return true from the first pin on
     */
    public boolean hasPinned() {
        synchronized (memory.lock()) {
            return hasPinned;
        }
    }

    // ---- lifetime

    /** Takes a reference of the structure: {@code mmgrab}. */
    public void grab() {
        synchronized (memory.lock()) {
            requireStructure();
            structureReferences++;
        }
    }

    /**
     * Drops a reference of the structure: {@code mmdrop}.
     *
     * @throws IllegalStateException if there is none but that of the users, or none at all; nothing changes then
     */
    public void drop() {
        synchronized (memory.lock()) {
            requireStructure();
            if (structureReferences == 1 && users > 0) {
                throw new IllegalStateException("nobody grabbed the address space: its one reference is its users'");
            }
            structureReferences--;
        }
    }

    private void requireStructure() {
        if (structureReferences == 0) {
            throw new IllegalStateException("the address space is gone: nobody holds it any more");
        }
    }

    /**
     * Becomes a user: {@code mmget_not_zero}.
     *
     * @return false when the memory is torn down already
     */
    public boolean getUser() {
        synchronized (memory.lock()) {
            if (users == 0) {
                return false;
            }
            users++;
            return true;
        }
    }

    /** Stops being a user: {@code mmput}. With the last one, everything is unmapped. */
    public void putUser() {
        synchronized (memory.lock()) {
            if (users == 0) {
                throw new IllegalStateException("the address space has no users left");
            }
            users--;
            if (users == 0) {
                tearDown();
            }
        }
    }

    private void tearDown() {
        for (Vma vma : vmas.all()) {
            zap.all(vma);
            vmas.remove(vma);
        }
        lockedVm = 0;
        memory.addressSpaces().remove(this);
        structureReferences--;
    }

    /**
     * How many hold the structure, all users together as one.
     *
     * @return references
     */
    public int structureReferences() {
        synchronized (memory.lock()) {
            return structureReferences;
        }
    }

    /**
     * How many use the memory.
     *
     * @return users, 0 when it is torn down
     */
    public int users() {
        synchronized (memory.lock()) {
            return users;
        }
    }

    // ---- for the package; callers hold the lock

    UserMemory memory() {
        return memory;
    }

    PageTable table() {
        return table;
    }

    VmaMap vmas() {
        return vmas;
    }

    Zap zap() {
        return zap;
    }

    void setHasPinned() {
        hasPinned = true;
    }

    void addLockedVm(long pages) {
        lockedVm += pages;
    }
}
