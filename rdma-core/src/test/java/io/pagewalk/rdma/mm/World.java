package io.pagewalk.rdma.mm;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.PageFrames;
import java.util.Objects;

/** A small machine with one process, and what tests of process memory say often. */
final class World implements AutoCloseable {
    static final long PAGE = 4096;
    static final long HUGE = 512 * PAGE;
    static final int R = Mmap.PROT_READ;
    static final int W = Mmap.PROT_WRITE;
    static final int RW = R | W;
    static final int LONGTERM = GupFlags.LONGTERM;
    static final int LONG_WRITE = GupFlags.LONGTERM | GupFlags.WRITE;

    final Machine machine;
    final UserMemory memory;
    final Pins pins;
    final PageFrames frames;
    final Process process;
    private long acquiredBefore;
    private long releasedBefore;

    World() {
        this(KernelModel.LINUX_6_12);
    }

    World(KernelModel model) {
        machine = Machine.builder().ramBytes(32 << 20).kernelModel(model).build();
        memory = UserMemory.of(machine);
        pins = memory.pins();
        frames = machine.frames();
        process = Process.create(machine);
    }

    /** Private anonymous memory that was never touched. */
    long untouched(int pages) {
        long address = process.mmap(pages * PAGE);
        assertThat(address).isPositive();
        return address;
    }

    /** Private anonymous memory, page i of which begins with the number i + 1. */
    long touched(int pages) {
        long address = untouched(pages);
        for (int i = 0; i < pages; i++) {
            process.putLong(address + i * PAGE, i + 1);
        }
        return address;
    }

    long map(UserFile.Opened file, int pages, int prot, int flags) {
        long address = process.mmap(0, pages * PAGE, prot, flags, file, 0);
        assertThat(address).isPositive();
        return address;
    }

    UserFile file(FileKind kind, int pages) {
        return UserFile.create(machine, kind, "file", pages * PAGE);
    }

    static Process child(Process parent) {
        return Objects.requireNonNull(parent.fork(), "no child");
    }

    /** Pins, and gives what the call gave. */
    int pin(long address, int pages, int flags) {
        return process.pinUserPagesFast(address, pages, flags, new long[pages]);
    }

    long[] pinned(long address, int pages, int flags) {
        return pinned(process, address, pages, flags);
    }

    static long[] pinned(Process process, long address, int pages, int flags) {
        long[] pfns = new long[pages];
        assertThat(process.pinUserPagesFast(address, pages, flags, pfns)).isEqualTo(pages);
        return pfns;
    }

    void unpin(long... pfns) {
        pins.unpinUserPagesDirtyLock(pfns, pfns.length, false);
    }

    /** What a device reads of a page that it was given. */
    long deviceReads(long pfn) {
        return machine.memory().getLong(pfn * PAGE);
    }

    /** The page-table entry of an address. */
    long pte(long address) {
        return pte(process, address);
    }

    static long pte(Process process, long address) {
        return process.addressSpace().table().get(address / PAGE);
    }

    /** Memory of huge pages, at a place that is a multiple of their size. */
    long huge(int hugePages, UserFile.Opened file, int flags, int firstHugePage) {
        long address = process.mmap(0, hugePages * HUGE, RW, flags, file, firstHugePage * HUGE);
        assertThat(address).isPositive();
        return address;
    }

    /** Private anonymous memory of one huge page, which begins with the number 1. */
    long touchedHuge() {
        long address = process.mmap(0, HUGE, RW, Mmap.MAP_PRIVATE | Mmap.MAP_ANONYMOUS | Mmap.MAP_HUGETLB, null, 0);
        process.putLong(address, 1);
        return address;
    }

    void countFromHere() {
        acquiredBefore = pins.acquired();
        releasedBefore = pins.released();
    }

    void assertCounted(long acquired, long released) {
        assertThat(pins.acquired() - acquiredBefore).as("acquired").isEqualTo(acquired);
        assertThat(pins.released() - releasedBefore).as("released").isEqualTo(released);
    }

    /** All processes but the given ones have exited, and nothing is pinned: every page is back. */
    void assertAllFree(UserFile... files) {
        process.exit();
        for (UserFile file : files) {
            file.close();
        }
        assertThat(machine.pages().allocatedPages()).isZero();
    }

    @Override
    public void close() {
        machine.close();
    }
}
