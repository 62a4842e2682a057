package io.pagewalk.rdma.mm;

import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A file that processes map: its pages, made zeroed when they are asked for first, and its end. What it holds lives as
 * long as it is open or mapped.
 *
 * <p>Thread-safe. Differs from Linux: no page of a file on a disk is ever written back or reclaimed, and its bytes go
 * with its last user.
 */
public final class UserFile implements AutoCloseable {
    private static final long BEYOND_END = -2;
    private static final long POISONED = -3;

    /**
     * A file as it was opened.
     *
     * @param file the file
     * @param writable whether it was opened for writing too (rdma:MM-5)
     */
    public record Opened(UserFile file, boolean writable) {
        /** Checks that there is a file. */
        public Opened {
            Objects.requireNonNull(file, "file");
        }
    }

    private final UserMemory memory;
    private final FileKind kind;
    private final String name;
    private final Map<Long, Long> pfnByPage = new HashMap<>();
    private long sizeBytes;
    private int users = 1;
    private boolean open = true;

    UserFile(UserMemory memory, FileKind kind, String name, long sizeBytes) {
        this.memory = memory;
        this.kind = kind;
        this.name = name;
        this.sizeBytes = sizeBytes;
    }

    /**
     * Makes a file and opens it.
     *
     * @param machine whose memory holds its pages
     * @param kind what it is
     * @param name what messages call it
     * @param sizeBytes where it ends
     * @return the file, full of zeros
     * @throws IllegalArgumentException if the end is negative: a file has fewer than 2^63 bytes
     */
    public static UserFile create(Machine machine, FileKind kind, String name, long sizeBytes) {
        Objects.requireNonNull(kind, "kind");
        return new UserFile(UserMemory.of(machine), kind, name, requireEnd(sizeBytes));
    }

    private static long requireEnd(long sizeBytes) {
        if (sizeBytes < 0) {
            throw new IllegalArgumentException("a file cannot end at " + sizeBytes + ": 0 to 2^63 - 1");
        }
        return sizeBytes;
    }

    /**
     * What it is.
     *
     * @return the kind
     */
    public FileKind kind() {
        return kind;
    }

    /**
     * Where it ends.
     *
     * @return bytes
     */
    public long sizeBytes() {
        synchronized (memory.lock()) {
            return sizeBytes;
        }
    }

    /**
     * Opens it for reading and writing.
     *
     * @return what mmap takes
     */
    public Opened forWriting() {
        return new Opened(this, true);
    }

    /**
     * Opens it for reading alone.
     *
     * @return what mmap takes
     */
    public Opened forReading() {
        return new Opened(this, false);
    }

    /**
     * Moves its end. Pages behind the new one leave the file and every process that maps them; pinned ones stay as they
     * are until they are unpinned (rdma:MM-12).
     *
     * @param newSizeBytes the new end
     * @throws IllegalArgumentException if it is negative; nothing changes then
     */
    public void truncate(long newSizeBytes) {
        synchronized (memory.lock()) {
            sizeBytes = requireEnd(newSizeBytes);
            long firstGone = endPage();
            memory.unmapFilePages(this, firstGone);
            pfnByPage.entrySet().removeIf(entry -> entry.getKey() >= firstGone && drop(entry.getValue()));
        }
    }

    /**
     * Loses a page to a memory error: whoever faults on it from now on fails (rdma:MM-11).
     *
     * @param page which page, from 0; of hugetlb the huge page
     * @throws IllegalArgumentException if it is negative; nothing changes then
     */
    public void poison(long page) {
        if (page < 0) {
            throw new IllegalArgumentException("the pages of a file begin with 0, not " + page);
        }
        synchronized (memory.lock()) {
            Long before = pfnByPage.put(page, POISONED);
            if (before != null && before >= 0) {
                memory.unmapFrame(this, page);
                memory.pages().put(before, 1);
            }
        }
    }

    /** Closes it. What is mapped stays mapped, and keeps it. */
    @Override
    public void close() {
        synchronized (memory.lock()) {
            if (open) {
                open = false;
                dropUser();
            }
        }
    }

    @Override
    public String toString() {
        return kind + " " + name;
    }

    // ---- for mappings; callers hold the lock

    UserMemory memory() {
        return memory;
    }

    void addUser() {
        users++;
    }

    void dropUser() {
        users--;
        if (users == 0) {
            pfnByPage.values().forEach(this::drop);
            pfnByPage.clear();
        }
    }

    private boolean drop(long pfn) {
        if (pfn >= 0) {
            memory.pages().put(pfn, 1);
        }
        return true;
    }

    /** The frame of a page, made if need be; of hugetlb the head of the huge page. Negative as a {@link #faultOf}. */
    long pageAt(long page) {
        if (page >= endPage()) {
            return BEYOND_END;
        }
        Long present = pfnByPage.get(page);
        if (present != null) {
            return present;
        }
        long pfn = kind == FileKind.HUGETLB
                ? memory.pages().allocateHugeZeroed(kind.folioBits())
                : memory.pages().allocateZeroed(kind.folioBits());
        if (pfn != UserPages.NONE) {
            pfnByPage.put(page, pfn);
        }
        return pfn;
    }

    /** Whether asking for a page makes none: it is there already, or cannot be. */
    boolean holdsOrEndsBefore(long page) {
        return page >= endPage() || pfnByPage.containsKey(page);
    }

    /**
     * The first page from one on that asking for can never make: lost, or behind the end; 2^63-1 when there is none.
     */
    long firstUnavailable(long page, long beforePage) {
        long first = beforePage > endPage() ? Math.max(page, endPage()) : Long.MAX_VALUE;
        for (Map.Entry<Long, Long> entry : pfnByPage.entrySet()) {
            long each = entry.getKey();
            if (entry.getValue() == POISONED && each >= page && each < beforePage) {
                first = Math.min(first, each);
            }
        }
        return first;
    }

    /** What a negative frame number stands for. */
    static Fault faultOf(long negativePfn) {
        if (negativePfn == BEYOND_END) {
            return Fault.BUS;
        }
        return negativePfn == POISONED ? Fault.HWPOISON : Fault.OOM;
    }

    /** Puts another frame in a page's place, which takes over the file's reference. */
    void replace(long page, long newPfn) {
        pfnByPage.put(page, newPfn);
    }

    boolean holds(long page, long pfn) {
        Long present = pfnByPage.get(page);
        return present != null && present == pfn;
    }

    private long endPage() {
        int shift = kind == FileKind.HUGETLB ? Addresses.PAGE_SHIFT + UserPages.HUGE_ORDER : Addresses.PAGE_SHIFT;
        return Addresses.alignUp(sizeBytes, 1L << shift) >>> shift;
    }
}
