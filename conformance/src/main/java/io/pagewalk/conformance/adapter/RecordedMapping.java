package io.pagewalk.conformance.adapter;

import static java.util.Map.entry;

import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.rdma.mm.FileKind;
import io.pagewalk.rdma.mm.Mmap;
import io.pagewalk.rdma.mm.Process;
import io.pagewalk.rdma.mm.UserFile;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Maps memory of one of the kinds that the recording of verbs names, where its process had it. */
final class RecordedMapping {
    private static final int R = Mmap.PROT_READ;
    private static final int W = Mmap.PROT_WRITE;
    private static final int X = Mmap.PROT_EXEC;
    private static final int RW = R | W;
    private static final int PRIVATE = Mmap.MAP_PRIVATE;
    private static final int SHARED = Mmap.MAP_SHARED;
    private static final int PAGE = (int) Addresses.PAGE_SIZE;
    private static final int SHORT_FILE = PAGE + 100;
    /** Where a PC has the memory of its screen. */
    private static final long SCREEN_PFN = 0xa0;
    /** Some page of the kernel. */
    private static final long VVAR_PFN = 8;

    private static final Map<String, Consumer<RecordedMapping>> KINDS = Map.ofEntries(
            entry("anon rw private untouched", m -> m.anonymous(RW, PRIVATE)),
            entry("anon rw private MAP_NORESERVE", m -> m.anonymous(RW, PRIVATE)),
            entry("/dev/zero rw private", m -> m.anonymous(RW, PRIVATE)),
            entry("anon ro private untouched", m -> m.anonymous(R, PRIVATE)),
            entry("anon none private never touched", m -> m.anonymous(0, PRIVATE)),
            entry("anon xo private (PROT_EXEC only)", m -> m.anonymous(X, PRIVATE)),
            entry("anon rw shared", m -> m.anonymous(RW, SHARED)),
            entry("/dev/zero rw shared", m -> m.anonymous(RW, SHARED)),
            entry("anon ro shared", m -> m.anonymous(R, SHARED)),
            entry("anon rw private MAP_LOCKED", m -> m.anonymous(RW, PRIVATE | Mmap.MAP_LOCKED)),
            entry("hugetlb 2M anon rw private", m -> m.anonymous(RW, PRIVATE | Mmap.MAP_HUGETLB)),
            entry("anon ro private touched, then mprotect(READ)", m -> m.touchedThen(R)),
            entry("anon none private (mprotect NONE after touch)", m -> m.touchedThen(0)),
            entry("anon wo private (PROT_WRITE only)", RecordedMapping::writeOnly),
            entry("THP 2M anon rw private (madvise HUGEPAGE, touched)", RecordedMapping::hugeFolio),
            entry("tmpfs file rw shared", m -> m.file(FileKind.SHMEM, RW, SHARED)),
            entry("memfd rw shared", m -> m.file(FileKind.SHMEM, RW, SHARED)),
            entry("tmpfs file rw private", m -> m.file(FileKind.SHMEM, RW, PRIVATE)),
            entry("tmpfs file ro shared", m -> m.openedForReading(FileKind.SHMEM, R, SHARED)),
            entry("memfd ro shared, F_SEAL_WRITE", m -> m.openedForReading(FileKind.SHMEM, R, SHARED)),
            entry("tmpfs file ro private", m -> m.openedForReading(FileKind.SHMEM, R, PRIVATE)),
            entry("ext4 file rw shared", m -> m.file(FileKind.REGULAR, RW, SHARED)),
            entry("ext4 file rw private", m -> m.file(FileKind.REGULAR, RW, PRIVATE)),
            entry("ext4 file ro shared", m -> m.openedForReading(FileKind.REGULAR, R, SHARED)),
            entry("ext4 file ro private", m -> m.openedForReading(FileKind.REGULAR, R, PRIVATE)),
            entry(
                    "tmpfs file rw shared, 4 pages mapped, file is 1 page + 100 bytes",
                    m -> m.file(FileKind.SHMEM, RW, SHARED, SHORT_FILE)),
            entry(
                    "ext4 file rw private, 4 pages mapped, file is 1 page + 100 bytes",
                    m -> m.file(FileKind.REGULAR, RW, PRIVATE, SHORT_FILE)),
            entry("memfd_secret rw shared", RecordedMapping::secret),
            entry("program text (r-x private file)", m -> m.looked(FileKind.REGULAR)),
            entry("[vdso]", m -> m.looked(FileKind.KERNEL_PAGES)),
            entry("[vvar]", m -> m.frames(VVAR_PFN, R)),
            entry("/dev/mem at 0xa0000 (VM_IO|VM_PFNMAP) rw shared", m -> m.frames(SCREEN_PFN, RW)),
            entry("mmap of a udmabuf rw shared", m -> m.frames(SCREEN_PFN, RW)),
            entry("8 pages: 4 rw private anon + 4 rw shared tmpfs", m -> m.halves(FileKind.SHMEM)),
            entry("8 pages: 4 rw private anon + 4 rw shared ext4", m -> m.halves(FileKind.REGULAR)));

    /** Names of places where nothing is mapped begin with one of these. */
    private static final List<String> NOWHERE =
            List.of("unmapped", "NULL page", "just below TASK_SIZE", "at TASK_SIZE", "non-canonical", "kernel", "last");

    private static final Pattern COUNTED = Pattern.compile("(first|hole at|tail)\\D*(\\d*)");

    private final Process process;
    private final String name;
    private final long base;
    private final long length;

    private RecordedMapping(Process process, String name, long base, long length) {
        this.process = process;
        this.name = name;
        this.base = base;
        this.length = length;
    }

    /**
     * Maps.
     *
     * @param process who has it
     * @param name how the recording calls it
     * @param base its first byte
     * @param length bytes
     * @return false when it is the name of a place where nothing is mapped
     */
    static boolean make(Process process, String name, long base, long length) {
        if (NOWHERE.stream().anyMatch(name::startsWith)) {
            return false;
        }
        KINDS.getOrDefault(name, RecordedMapping::touchedInPart)
                .accept(new RecordedMapping(process, name, base, length));
        return true;
    }

    // ---- anonymous memory

    private void anonymous(int prot, int flags) {
        requireBase(process.mmap(base, length, prot, flags | Mmap.MAP_ANONYMOUS | Mmap.MAP_FIXED, null, 0), base);
    }

    private void touch() {
        for (long at = base; at < base + length; at += PAGE) {
            process.putLong(at, at);
        }
    }

    private void touched() {
        anonymous(RW, PRIVATE);
        touch();
    }

    private void touchedThen(int prot) {
        touched();
        requireDone(process.mprotect(base, length, prot));
    }

    private void writeOnly() {
        anonymous(W, PRIVATE);
        touch();
    }

    private void hugeFolio() {
        anonymous(RW, PRIVATE);
        requireDone(process.madvise(base, length, Mmap.MADV_HUGEPAGE));
        touch();
    }

    /** Touched memory of which some pages are taken away again, as the name says. */
    private void touchedInPart() {
        touched();
        Matcher counted = COUNTED.matcher(name);
        if (!counted.find()) {
            return;
        }
        long number = counted.group(2).isEmpty() ? 0 : Long.parseLong(counted.group(2));
        switch (counted.group(1)) {
            case "first" -> unmap(base, 1);
            case "hole at" -> unmap(base + number * PAGE, 1);
            default -> changeTail(number);
        }
    }

    private void changeTail(long pages) {
        long at = base + length - pages * PAGE;
        if (name.endsWith("PROT_NONE")) {
            requireDone(process.mprotect(at, pages * PAGE, Mmap.PROT_NONE));
        } else if (name.endsWith("read-only")) {
            requireDone(process.mprotect(at, pages * PAGE, R));
        } else {
            unmap(at, pages);
        }
    }

    private void unmap(long at, long pages) {
        requireDone(process.munmap(at, pages * PAGE));
    }

    // ---- files and frames

    private void file(FileKind kind, int prot, int flags) {
        file(kind, prot, flags, length);
    }

    private void file(FileKind kind, int prot, int flags, long sizeBytes) {
        map(kind, base, length, prot, flags, sizeBytes);
    }

    private void map(FileKind kind, long at, long bytes, int prot, int flags, long sizeBytes) {
        try (UserFile file = UserFile.create(process.machine(), kind, name, sizeBytes)) {
            requireBase(process.mmap(at, bytes, prot, flags | Mmap.MAP_FIXED, file.forWriting(), 0), at);
        }
    }

    private void openedForReading(FileKind kind, int prot, int flags) {
        try (UserFile file = UserFile.create(process.machine(), kind, name, length)) {
            requireBase(process.mmap(base, length, prot, flags | Mmap.MAP_FIXED, file.forReading(), 0), base);
        }
    }

    private void secret() {
        file(FileKind.SECRETMEM, RW, SHARED);
        process.putLong(base, 1);
    }

    /** What runs was read before. */
    private void looked(FileKind kind) {
        openedForReading(kind, R | X, PRIVATE);
        process.getLong(base);
    }

    private void frames(long firstPfn, int prot) {
        requireBase(process.mmapDevice(base, firstPfn, length, prot), base);
    }

    private void halves(FileKind kind) {
        long half = length / 2;
        new RecordedMapping(process, name, base, half).touched();
        map(kind, base + half, half, RW, SHARED, half);
    }

    // ---- errors

    private void requireBase(long mapped, long wanted) {
        if (mapped != wanted) {
            throw new BadVectorException(
                    "cannot map \"" + name + "\" at 0x" + Long.toHexString(wanted) + ": " + mapped);
        }
    }

    private void requireDone(int result) {
        if (result != 0) {
            throw new BadVectorException("cannot make \"" + name + "\" at 0x" + Long.toHexString(base) + ": " + result);
        }
    }
}
