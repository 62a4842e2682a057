package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Machine;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A process of one thread: an address space, what it may lock in memory, and the calls that change both. It reads and
 * writes by virtual address alone; its bytes are the machine's.
 *
 * <p>Calls of the kernel answer with a negated errno where they fail. Thread-safe: two calls of one machine's processes
 * never overlap.
 */
@SuppressWarnings("JavaLangClash") // the kernel's word for it; nothing here starts programs
public final class Process extends ProcessBytes {
    private final UserMemory memory;
    private final int pid;
    private final AddressSpace space;
    private final Credentials credentials;
    private final Pinning pinning;
    private final Mapper mapper;
    private final Protection protection;
    private final Advice advice;
    private final MemoryLock memoryLock;
    private ProtectionKeys keys = new ProtectionKeys(0);
    private final List<Runnable> atExit = new ArrayList<>();
    private volatile boolean killed;
    private boolean exited;

    private Process(UserMemory memory, Credentials credentials, FaultHandler faults) {
        super(memory, faults);
        this.memory = memory;
        this.credentials = credentials;
        pid = memory.newPid();
        space = addressSpace();
        pinning = new Pinning(memory, memory.machine(), faults);
        mapper = new Mapper(space);
        protection = new Protection(space, mapper);
        advice = new Advice(space, mapper);
        memoryLock = new MemoryLock(space, mapper, credentials, faults);
    }

    /**
     * Starts a process with an empty address space, the memory lock limit of a distribution, 8 MiB, and without
     * CAP_IPC_LOCK.
     *
     * @param machine where it runs
     * @return the process
     */
    public static Process create(Machine machine) {
        UserMemory memory = UserMemory.of(machine);
        synchronized (memory.lock()) {
            return new Process(memory, new Credentials(), new FaultHandler(memory));
        }
    }

    @Override
    Process process() {
        return this;
    }

    // ---- identity and rights

    /**
     * Its number.
     *
     * @return the pid, from 1000 on
     */
    public int pid() {
        return pid;
    }

    /**
     * The machine it runs on.
     *
     * @return the machine
     */
    public Machine machine() {
        return memory.machine();
    }

    /**
     * Whether it may lock memory at all: {@code can_do_mlock} (rdma:MM-3).
     *
     * @return true if the limit is not 0 or it has CAP_IPC_LOCK, whatever is locked already
     */
    public boolean canDoMlock() {
        return credentials.canDoMlock();
    }

    /**
     * Its soft RLIMIT_MEMLOCK.
     *
     * @return bytes, unsigned; -1 for no limit
     */
    public long memlockLimitBytes() {
        return credentials.memlockLimitBytes();
    }

    /**
     * Sets its soft RLIMIT_MEMLOCK. What is pinned stays; only the next registration is judged by it (rdma:MM-2).
     *
     * @param bytes the limit, unsigned; {@link Credentials#RLIM_INFINITY} for none
     */
    public void setMemlockLimit(long bytes) {
        credentials.setMemlockLimit(bytes);
    }

    /**
     * Whether CAP_IPC_LOCK lifts the limit (rdma:MM-2).
     *
     * @return true if it is in the effective set and the process is in the initial user namespace
     */
    public boolean hasCapIpcLock() {
        return credentials.hasCapIpcLock();
    }

    /**
     * Gives or takes CAP_IPC_LOCK, in the effective set.
     *
     * @param effective whether it has it
     */
    public void setCapIpcLock(boolean effective) {
        credentials.setCapIpcLock(effective);
    }

    /**
     * What it may do.
     *
     * @return its limit and capability
     */
    public Credentials credentials() {
        return credentials;
    }

    /**
     * Sets its register of protection keys, PKRU: for each key one bit that denies every access and a higher one that
     * denies writes.
     *
     * @param pkru the register, 0 when everything is allowed
     */
    public void setPkru(int pkru) {
        synchronized (memory.lock()) {
            keys = new ProtectionKeys(pkru);
        }
    }

    ProtectionKeys protectionKeys() {
        return keys;
    }

    // ---- life

    /**
     * Makes a child with a copy of the address space (rdma:MM-13, MM-14).
     *
     * @return the child, or null for -ENOMEM, the only error; nothing of it is left then
     */
    public @Nullable Process fork() {
        synchronized (memory.lock()) {
            requireAlive();
            if (memory.structPoint().fails()) {
                return null;
            }
            Process child = new Process(memory, credentials.copy(), new FaultHandler(memory));
            child.keys = keys;
            if (new ForkCopy(space, child.space).copy()) {
                return child;
            }
            child.exit();
            return null;
        }
    }

    /**
     * Ends: everything is unmapped, then files are closed. What is pinned stays until it is unpinned, as it is when a
     * file's close destroys a registration.
     */
    public void exit() {
        List<Runnable> closing;
        synchronized (memory.lock()) {
            if (exited) {
                return;
            }
            exited = true;
            if (space.users() > 0) {
                space.putUser();
            }
            closing = List.copyOf(atExit);
            atExit.clear();
        }
        closing.forEach(Runnable::run);
    }

    /**
     * Has something done when it ends, after its memory is gone: closing what it had open.
     *
     * @param action what to do, outside all locks
     * @throws IllegalStateException when it has exited; nothing changes then
     */
    public void onExit(Runnable action) {
        Objects.requireNonNull(action, "action");
        synchronized (memory.lock()) {
            if (exited) {
                throw new IllegalStateException("process " + pid + " has exited");
            }
            atExit.add(action);
        }
    }

    /** Sends SIGKILL: it stays pending, and ends what waits for pages (rdma:GUP-16). */
    public void kill() {
        killed = true;
    }

    /**
     * Whether SIGKILL is pending.
     *
     * @return true after {@link #kill}
     */
    public boolean isKilled() {
        return killed;
    }

    /**
     * Whether it ended.
     *
     * @return true after {@link #exit}
     */
    public boolean hasExited() {
        synchronized (memory.lock()) {
            return exited;
        }
    }

    void requireAlive() {
        if (exited) {
            throw new IllegalStateException("process " + pid + " has exited");
        }
        if (space.users() == 0) {
            throw new IllegalStateException("process " + pid + " has no memory any more: its last user was dropped");
        }
    }

    // ---- mapping

    /**
     * Maps memory: {@code mmap}.
     *
     * @param address where, or a hint; 0 for anywhere
     * @param length bytes, rounded up to pages
     * @param prot of {@link Mmap}, PROT_*
     * @param flags of {@link Mmap}, MAP_*
     * @param file what to map; null for anonymous memory
     * @param offsetBytes where in the file, a multiple of the page size
     * @return the address, or -EINVAL, -EACCES, -EPERM, -EAGAIN or -ENOMEM
     * @throws IllegalArgumentException if the file is another machine's; nothing changes then
     */
    public long mmap(long address, long length, int prot, int flags, UserFile.@Nullable Opened file, long offsetBytes) {
        synchronized (memory.lock()) {
            requireAlive();
            requireOfThisMachine(file);
            boolean locked = (flags & Mmap.MAP_LOCKED) != 0;
            int refused = locked ? memoryLock.mayMapLocked(length) : 0;
            if (refused != 0) {
                return refused;
            }
            long mapped = mapper.mmap(address, length, prot, flags, file, offsetBytes);
            if (locked && mapped >= 0) {
                memoryLock.lockMapped(mapped, length);
            }
            return mapped;
        }
    }

    private void requireOfThisMachine(UserFile.@Nullable Opened file) {
        if (file != null && file.file().memory() != memory) {
            throw new IllegalArgumentException("process " + pid + " cannot map " + file.file() + " of another machine");
        }
    }

    /**
     * Maps private anonymous memory that can be read and written, anywhere.
     *
     * @param length bytes, rounded up to pages
     * @return the address, or -EINVAL or -ENOMEM
     */
    public long mmap(long length) {
        int flags = Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS;
        return mmap(0, length, Mmap.PROT_READ | Mmap.PROT_WRITE, flags, null, 0);
    }

    /**
     * Unmaps memory: {@code munmap}. Pinned pages stay until they are unpinned (rdma:MM-12).
     *
     * @param address the first byte, a multiple of the page size
     * @param length bytes, rounded up to pages
     * @return 0, -EINVAL or -ENOMEM
     */
    public int munmap(long address, long length) {
        synchronized (memory.lock()) {
            requireAlive();
            return mapper.munmap(address, length);
        }
    }

    /**
     * Maps registers or memory of a device, or anything else that has frame numbers but no pages (rdma:MM-20, [vvar]):
     * IO and PFNMAP.
     *
     * @param address where, if nothing is there; 0 for anywhere
     * @param firstPfn the number of the first frame, RAM or not
     * @param length bytes, rounded up to pages
     * @param prot of {@link Mmap}, PROT_*
     * @return the address, or -EINVAL or -ENOMEM
     */
    public long mmapDevice(long address, long firstPfn, long length, int prot) {
        synchronized (memory.lock()) {
            requireAlive();
            return mapper.mapFrames(address, firstPfn, length, prot, false);
        }
    }

    /**
     * Maps memory of a device that has pages, such as that of a peer on the bus (rdma:GUP-15): MIXEDMAP.
     *
     * @param address where, if nothing is there; 0 for anywhere
     * @param firstPfn the number of the first frame, which is a page of {@link Machine#devicePages()} as are those
     *     after it
     * @param length bytes, rounded up to pages
     * @param prot of {@link Mmap}, PROT_*
     * @return the address, or -EINVAL or -ENOMEM
     */
    public long mmapDevicePages(long address, long firstPfn, long length, int prot) {
        synchronized (memory.lock()) {
            requireAlive();
            return mapper.mapFrames(address, firstPfn, length, prot, true);
        }
    }

    /**
     * Changes what may be done with memory: {@code mprotect}.
     *
     * @param address the first byte, a multiple of the page size
     * @param length bytes, rounded up to pages
     * @param prot of {@link Mmap}, PROT_*
     * @return 0, -EINVAL, -EACCES or -ENOMEM; ranges before the one that failed are changed
     */
    public int mprotect(long address, long length, int prot) {
        return pkeyMprotect(address, length, prot, 0);
    }

    /**
     * Changes what may be done with memory, and its protection key: {@code pkey_mprotect}.
     *
     * @param address the first byte, a multiple of the page size
     * @param length bytes, rounded up to pages
     * @param prot of {@link Mmap}, PROT_*
     * @param key the key, 0 to 15
     * @return 0, -EINVAL, -EACCES or -ENOMEM; ranges before the one that failed are changed
     * @throws IllegalArgumentException if there is no such key
     */
    public int pkeyMprotect(long address, long length, int prot, int key) {
        if (key < 0 || key >= ProtectionKeys.KEYS) {
            throw new IllegalArgumentException("protection keys are 0 to 15, not " + key);
        }
        synchronized (memory.lock()) {
            requireAlive();
            return protection.protect(address, length, prot, key);
        }
    }

    /**
     * Says what is to become of memory: {@code madvise}.
     *
     * @param address the first byte, a multiple of the page size
     * @param length bytes, rounded up to pages
     * @param kind of {@link Mmap}, MADV_*
     * @return 0, -EINVAL or -EAGAIN; -ENOMEM when part of it is not mapped, after the rest was done
     */
    public int madvise(long address, long length, int kind) {
        synchronized (memory.lock()) {
            requireAlive();
            return advice.advise(address, length, kind);
        }
    }

    /**
     * Locks memory: {@code mlock}.
     *
     * @param address an address in the first page
     * @param length bytes
     * @return 0, -EPERM, -ENOMEM, -EAGAIN or -EINVAL
     */
    public int mlock(long address, long length) {
        synchronized (memory.lock()) {
            requireAlive();
            return memoryLock.lock(address, length);
        }
    }

    /**
     * Unlocks memory: {@code munlock}.
     *
     * @param address an address in the first page
     * @param length bytes
     * @return 0, -ENOMEM or -EINVAL
     */
    public int munlock(long address, long length) {
        synchronized (memory.lock()) {
            requireAlive();
            return memoryLock.unlock(address, length);
        }
    }

    // ---- pinning

    /**
     * Pins pages: {@code pin_user_pages_fast} (rdma:GUP-1 to GUP-20). Allocates nothing for pages that are present.
     *
     * @param userAddr an address in the first page
     * @param nrPages how many pages
     * @param gupFlags of {@link GupFlags}
     * @param pfns takes the frames of the pages pinned
     * @return how many were pinned, 0 only when none were asked for; or -EINVAL, -EOVERFLOW, -EFAULT, -EOPNOTSUPP,
     *     -ENOMEM, -EINTR, -EBUSY or -EREMOTEIO, with none pinned
     * @throws IllegalArgumentException if the number is negative or the array too short; nothing changes then
     */
    public int pinUserPagesFast(long userAddr, int nrPages, int gupFlags, long[] pfns) {
        synchronized (memory.lock()) {
            requireAlive();
            return pinning.pin(this, userAddr, nrPages, gupFlags, pfns);
        }
    }

    /**
     * Says where pinning pages would stop, and why, without pinning or faulting in any: what
     * {@code pin_user_pages_fast} called again and again until it has all would say (rdma:GUP-4 to GUP-8, UMEM-15).
     * Pages that have to be faulted in or moved are taken to be there: that memory runs out is not foreseen.
     *
     * @param userAddr an address in the first page
     * @param nrPages how many pages
     * @param gupFlags of {@link GupFlags}, as they may be together and without NOFAULT
     * @return the first page that cannot be pinned, null when all can
     * @throws IllegalArgumentException if the number is negative, or the flags contradict each other or have NOFAULT
     */
    public @Nullable PinRefusal pinRefusal(long userAddr, long nrPages, int gupFlags) {
        synchronized (memory.lock()) {
            requireAlive();
            return pinning.refusal(this, userAddr, nrPages, gupFlags);
        }
    }

    @Override
    public String toString() {
        return "process " + pid + (hasExited() ? " (exited)" : "");
    }
}
