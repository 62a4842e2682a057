package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.mm.AddressSpace;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.Process;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A process of the recording of verbs: what it had mapped so far, and who it was. */
final class RecordedProcess {
    private static final int ROOT = 0;
    private static final int NOBODY_YET = -1;
    private static final int KIB_PER_PAGE = 4;
    private static final String LOCKED = "anon rw private MAP_LOCKED";
    private static final int LOCKED_PAGES = 4;
    /** As much as any line locks, and more. */
    private static final int LOCKABLE_PAGES = 64;

    private record Mapped(String name, long base, long length) {
        boolean overlaps(Mapped other) {
            return base < other.base + other.length && other.base < base + length;
        }
    }

    private final Process process;
    private final List<Mapped> mapped = new ArrayList<>();
    private int uid = NOBODY_YET;
    private long lockedAhead;
    private long lockable;
    private int locked;

    private RecordedProcess(Process process) {
        this.process = process;
    }

    static RecordedProcess start(Machine machine) {
        return new RecordedProcess(Process.create(machine));
    }

    RecordedProcess fork() {
        Process child = process.fork();
        if (child == null) {
            throw new BadVectorException("fork failed");
        }
        RecordedProcess copy = new RecordedProcess(child);
        copy.mapped.addAll(mapped);
        copy.uid = uid;
        return copy;
    }

    void exit() {
        process.exit();
    }

    Process process() {
        return process;
    }

    AddressSpace space() {
        return process.addressSpace();
    }

    long pinnedKib() {
        return space().pinnedVm() * KIB_PER_PAGE;
    }

    long lockedKib() {
        return space().lockedVm() * KIB_PER_PAGE;
    }

    // ---- rights

    /** Root has every capability; who stops being root has none, and who stays the same user keeps what it has. */
    void become(int newUid, long memlockBytes) {
        if (newUid != uid) {
            uid = newUid;
            process.setCapIpcLock(newUid == ROOT);
        }
        process.setMemlockLimit(memlockBytes);
    }

    void setCapability(boolean effective) {
        process.setCapIpcLock(true);
        process.credentials().raiseCapIpcLock(effective);
    }

    void unshareUserNamespace() {
        process.credentials().unshareUserNamespace();
    }

    // ---- memory

    /** Maps what a line names unless it is there already: page tables carry over from line to line. */
    void map(String name, long base, long length) {
        Mapped wanted = new Mapped(name, base, length);
        if (mapped.contains(wanted)) {
            return;
        }
        mapped.stream().filter(wanted::overlaps).forEach(old -> process.munmap(old.base, old.length));
        mapped.removeIf(wanted::overlaps);
        if (name.equals(LOCKED)) {
            unmapLockedAhead();
        }
        if (RecordedMapping.make(process, name, base, length)) {
            mapped.add(wanted);
        }
    }

    void fill(long addr, int length, int value) {
        byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) value);
        process.writeBytes(addr, bytes);
    }

    void unmapLast(long base, long length) {
        process.munmap(base + length - Addresses.PAGE_SIZE, Addresses.PAGE_SIZE);
    }

    /** Maps its locked memory before a line tells where it is; it moves there as soon as one does. */
    void lockAhead() {
        lockedAhead = process.mmap(
                0,
                LOCKED_PAGES * Addresses.PAGE_SIZE,
                Mmap.PROT_READ | Mmap.PROT_WRITE,
                Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_LOCKED,
                null,
                0);
    }

    private void unmapLockedAhead() {
        if (lockedAhead != 0) {
            process.munmap(lockedAhead, LOCKED_PAGES * Addresses.PAGE_SIZE);
            lockedAhead = 0;
        }
    }

    /** Locks pages behind those that are locked already. */
    int mlock(int pages) {
        if (lockable == 0) {
            lockable = process.mmap(LOCKABLE_PAGES * Addresses.PAGE_SIZE);
        }
        int error = process.mlock(lockable + locked * Addresses.PAGE_SIZE, pages * Addresses.PAGE_SIZE);
        locked += error == 0 ? pages : 0;
        return error;
    }

    void munlock() {
        process.munlock(lockable, locked * Addresses.PAGE_SIZE);
        locked = 0;
    }
}
