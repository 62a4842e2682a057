package io.pagewalk.rdma.mm;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.Machine;

/** Maps what the recorded process had mapped, by the name that the recording gives it. */
final class RecordedWorld {
    private static final int R = Mmap.PROT_READ;
    private static final int W = Mmap.PROT_WRITE;
    private static final int RW = R | W;
    private static final int X = Mmap.PROT_EXEC;
    private static final int PAGE = 4096;
    private static final int FIXED = Mmap.MAP_FIXED;
    private static final int PRIVATE = Mmap.MAP_PRIVATE | FIXED;
    private static final int SHARED = Mmap.MAP_SHARED | FIXED;
    private static final int ANONYMOUS = Mmap.MAP_ANONYMOUS;

    private final Process process;
    private final Machine machine;

    RecordedWorld(Process process) {
        this.process = process;
        machine = process.machine();
    }

    void map(String name, long base, long length) {
        switch (name) {
            case "anon rw private untouched", "anon rw private MAP_NORESERVE", "/dev/zero rw private" ->
                anonymous(base, length, RW, PRIVATE);
            case "anon ro private untouched" -> anonymous(base, length, R, PRIVATE);
            case "anon none private never touched" -> anonymous(base, length, 0, PRIVATE);
            case "anon xo private (PROT_EXEC only)" -> anonymous(base, length, X, PRIVATE);
            case "anon rw shared", "/dev/zero rw shared" -> anonymous(base, length, RW, SHARED);
            case "anon ro shared" -> anonymous(base, length, R, SHARED);
            case "anon rw private MAP_LOCKED" -> anonymous(base, length, RW, PRIVATE | Mmap.MAP_LOCKED);
            case "hugetlb 2M anon rw private" -> anonymous(base, length, RW, PRIVATE | Mmap.MAP_HUGETLB);
            case "anon ro private touched, then mprotect(READ)" -> touchedThen(base, length, R);
            case "anon none private (mprotect NONE after touch)" -> touchedThen(base, length, 0);
            case "anon wo private (PROT_WRITE only)" -> {
                anonymous(base, length, W, PRIVATE);
                touch(base, length);
            }
            case "THP 2M anon rw private (madvise HUGEPAGE, touched)" -> {
                anonymous(base, length, RW, PRIVATE);
                assertThat(process.madvise(base, length, Mmap.MADV_HUGEPAGE)).isZero();
                touch(base, length);
            }
            case "tmpfs file rw shared", "memfd rw shared" -> file(FileKind.SHMEM, base, length, RW, SHARED, length);
            case "tmpfs file ro shared", "memfd ro shared, F_SEAL_WRITE" ->
                readOnlyFile(FileKind.SHMEM, base, length, R, SHARED);
            case "tmpfs file rw private" -> file(FileKind.SHMEM, base, length, RW, PRIVATE, length);
            case "tmpfs file ro private" -> readOnlyFile(FileKind.SHMEM, base, length, R, PRIVATE);
            case "ext4 file rw shared" -> file(FileKind.REGULAR, base, length, RW, SHARED, length);
            case "ext4 file ro shared" -> readOnlyFile(FileKind.REGULAR, base, length, R, SHARED);
            case "ext4 file rw private" -> file(FileKind.REGULAR, base, length, RW, PRIVATE, length);
            case "ext4 file ro private" -> readOnlyFile(FileKind.REGULAR, base, length, R, PRIVATE);
            case "tmpfs file rw shared, 4 pages mapped, file is 1 page + 100 bytes" ->
                file(FileKind.SHMEM, base, length, RW, SHARED, PAGE + 100);
            case "ext4 file rw private, 4 pages mapped, file is 1 page + 100 bytes" ->
                file(FileKind.REGULAR, base, length, RW, PRIVATE, PAGE + 100);
            case "memfd_secret rw shared" -> {
                file(FileKind.SECRETMEM, base, length, RW, SHARED, length);
                process.putLong(base, 1);
            }
            case "program text (r-x private file)" -> {
                readOnlyFile(FileKind.REGULAR, base, length, R | X, PRIVATE);
                process.getLong(base);
            }
            case "[vdso]" -> {
                readOnlyFile(FileKind.KERNEL_PAGES, base, length, R | X, PRIVATE);
                process.getLong(base);
            }
            default -> mapOddities(name, base, length);
        }
    }

    private void mapOddities(String name, long base, long length) {
        long end = base + length;
        if (name.startsWith("/dev/mem")) {
            device(0xa0, base, length, RW);
        } else if (name.equals("[vvar]")) {
            device(8, base, length, R);
        } else if (name.contains("4 rw shared tmpfs")) {
            touched(base, length / 2);
            file(FileKind.SHMEM, base + length / 2, length / 2, RW, SHARED, length / 2);
        } else if (name.contains("4 rw shared ext4")) {
            touched(base, length / 2);
            file(FileKind.REGULAR, base + length / 2, length / 2, RW, SHARED, length / 2);
        } else if (!isUnmapped(name)) {
            touched(base, length);
            int at = name.indexOf("hole at ");
            if (name.contains("first page unmapped")) {
                hole(base, 1);
            } else if (name.contains("tail 1 unmapped")) {
                hole(end - PAGE, 1);
            } else if (name.contains("tail 2 unmapped")) {
                hole(end - 2 * PAGE, 2);
            } else if (name.contains("tail 2 PROT_NONE")) {
                assertThat(process.mprotect(end - 2 * PAGE, 2 * PAGE, 0)).isZero();
            } else if (name.contains("tail 2 read-only")) {
                assertThat(process.mprotect(end - 2 * PAGE, 2 * PAGE, R)).isZero();
            } else if (at >= 0) {
                hole(base + PAGE * (long) pageNamed(name.substring(at)), 1);
            }
        }
    }

    private static int pageNamed(String text) {
        return Integer.parseInt(text.replaceFirst("\\(.*", "").replaceAll("[^0-9]", ""));
    }

    private static boolean isUnmapped(String name) {
        return name.contains("unmapped (munmap done)")
                || name.startsWith("NULL page")
                || name.contains("TASK_SIZE")
                || name.startsWith("non-canonical")
                || name.startsWith("kernel");
    }

    private void hole(long address, long pages) {
        assertThat(process.munmap(address, pages * PAGE)).isZero();
    }

    private void anonymous(long base, long length, int prot, int flags) {
        assertThat(process.mmap(base, length, prot, flags | ANONYMOUS, null, 0)).isEqualTo(base);
    }

    private void touched(long base, long length) {
        anonymous(base, length, RW, PRIVATE);
        touch(base, length);
    }

    private void touchedThen(long base, long length, int prot) {
        touched(base, length);
        assertThat(process.mprotect(base, length, prot)).isZero();
    }

    private void touch(long base, long length) {
        for (long at = base; at < base + length; at += PAGE) {
            process.putLong(at, at);
        }
    }

    private void file(FileKind kind, long base, long length, int prot, int flags, long size) {
        try (UserFile file = UserFile.create(machine, kind, "file", size)) {
            assertThat(process.mmap(base, length, prot, flags, file.forWriting(), 0))
                    .isEqualTo(base);
        }
    }

    private void readOnlyFile(FileKind kind, long base, long length, int prot, int flags) {
        try (UserFile file = UserFile.create(machine, kind, "file", length)) {
            assertThat(process.mmap(base, length, prot, flags, file.forReading(), 0))
                    .isEqualTo(base);
        }
    }

    private void device(long firstPfn, long base, long length, int prot) {
        assertThat(process.mmapDevice(base, firstPfn, length, prot)).isEqualTo(base);
    }
}
