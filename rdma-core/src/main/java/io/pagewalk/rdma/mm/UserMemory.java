package io.pagewalk.rdma.mm;

import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelModel;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.held.HeldSection;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CmaArea;
import io.pagewalk.dma.memory.PageAllocator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What all processes of one machine share: the zero page, what is known of folios, the pins and their counters, and the
 * list of address spaces.
 *
 * <p>Thread-safe, by one lock for all user memory of the machine: moving a page has to see every page table that names
 * it. Differs from Linux, where locks are finer and the fast phase of a pin takes none; what a pin sees is the same as
 * if it had come before or after whatever runs beside it (rdma:GUP-4).
 */
public final class UserMemory {
    private static final int FIRST_PID = 1000;

    private final Object lock = new Object();
    private final Machine machine;
    private final Folios folios = new Folios();
    private final UserPages pages;
    private final Pins pins;
    private final long zeroPfn;
    private final Set<AddressSpace> addressSpaces = new LinkedHashSet<>();
    private final FailurePoint tables;
    private final FailurePoint vmas;
    private final FailurePoint structs;
    private int nextPid = FIRST_PID;

    private UserMemory(Machine machine) {
        this.machine = machine;
        pages = new UserPages(machine, folios);
        pins = new Pins(this);
        tables = machine.failures().point("mm.table");
        vmas = machine.failures().point("mm.vma");
        structs = machine.failures().point("mm.struct");
        zeroPfn = reserveZeroPage(machine);
        machine.addHeldSource(this::held);
    }

    /** All pins of the machine, those of registrations without a device of the verbs included. */
    private List<HeldSection> held() {
        List<String> row = List.of(
                Long.toString(pins.acquired() - pins.released()),
                Long.toString(pins.acquired()),
                Long.toString(pins.released()));
        return List.of(new HeldSection("page pins", List.of("held", "taken", "given back"), List.of(row)));
    }

    private static long reserveZeroPage(Machine machine) {
        long physAddr = machine.pages().allocContiguous(Addresses.PAGE_SIZE, Addresses.PAGE_SIZE, -1L);
        if (physAddr == PageAllocator.NO_PAGE) {
            throw new IllegalStateException("the machine has no page free for the zero page");
        }
        machine.cpuMemory().zero(physAddr, Addresses.PAGE_SIZE);
        long pfn = physAddr >>> Addresses.PAGE_SHIFT;
        machine.frames().get(pfn);
        return pfn;
    }

    /**
     * Finds the user memory of a machine.
     *
     * @param machine the machine
     * @return its one
     */
    public static UserMemory of(Machine machine) {
        return machine.extension(UserMemory.class, UserMemory::new);
    }

    /**
     * The machine.
     *
     * @return whose memory it is
     */
    public Machine machine() {
        return machine;
    }

    /**
     * The pins.
     *
     * @return the machine's one
     */
    public Pins pins() {
        return pins;
    }

    /**
     * The page of zeros that untouched memory is read from.
     *
     * @return the number of its frame
     */
    public long zeroPfn() {
        return zeroPfn;
    }

    /**
     * Takes the small pages of processes and files from an area while it has any: a contiguous memory area, or what
     * stands for ZONE_MOVABLE. Such pages cannot be pinned for long; they are moved out first (rdma:GUP-13, GUP-14).
     *
     * @param area the area, which nobody else hands out; null to take pages from the page allocator alone
     */
    public void takePagesFrom(@Nullable CmaArea area) {
        synchronized (lock) {
            pages.takeFrom(area);
        }
    }

    /**
     * Says that a page lies in memory of a device which the CPU reaches but which cannot be pinned for long, nor always
     * be moved (rdma:GUP-13, GUP-14).
     *
     * @param pfn the number of its frame, which a process or file has
     * @throws IllegalArgumentException if there is no such frame, or nobody has it
     */
    public void markDeviceCoherent(long pfn) {
        synchronized (lock) {
            requireFolio(pfn);
            folios.setOnFolio(pfn, Folios.DEVICE_COHERENT);
        }
    }

    /**
     * Says that a page lies in a block that is being taken out of use (rdma:GUP-13).
     *
     * @param pfn the number of its frame, which a process or file has
     * @throws IllegalArgumentException if there is no such frame, or nobody has it
     */
    public void markIsolated(long pfn) {
        synchronized (lock) {
            requireFolio(pfn);
            folios.setOnFolio(pfn, Folios.ISOLATED);
        }
    }

    /**
     * Whether a page keeps its bytes without power: it belongs to a file in persistent memory (rdma:RXE-15).
     *
     * @param pfn the number of its frame
     * @return true for pages of {@link FileKind#FSDAX} and {@link FileKind#DEVICE_DAX}
     * @throws IllegalArgumentException if there is no such frame
     */
    public boolean isPersistent(long pfn) {
        synchronized (lock) {
            return folios.has(Folios.requireFrame(pfn), Folios.PERSISTENT);
        }
    }

    private void requireFolio(long pfn) {
        if (folios.state(Folios.requireFrame(pfn)) == 0) {
            throw new IllegalArgumentException("no process and no file has page frame " + Addresses.hex(pfn));
        }
    }

    // ---- for the package

    Object lock() {
        return lock;
    }

    KernelModel model() {
        return machine.kernelModel();
    }

    Folios folios() {
        return folios;
    }

    UserPages pages() {
        return pages;
    }

    /** How many pages of RAM the machine has. */
    long ramPages() {
        return machine.ram().sizeBytes() >>> Addresses.PAGE_SHIFT;
    }

    FailurePoint tablePoint() {
        return tables;
    }

    FailurePoint vmaPoint() {
        return vmas;
    }

    FailurePoint structPoint() {
        return structs;
    }

    boolean isZeroPage(long pfn) {
        return pfn == zeroPfn;
    }

    int newPid() {
        return nextPid++;
    }

    Set<AddressSpace> addressSpaces() {
        return addressSpaces;
    }

    /** Takes a file's pages from one on out of every address space, private copies included. */
    void unmapFilePages(UserFile file, long firstPage) {
        for (AddressSpace space : addressSpaces) {
            for (Vma vma : space.vmas().all()) {
                if (vma.file == file) {
                    space.zap().filePagesFrom(vma, firstPage);
                }
            }
        }
    }

    /** Takes one page of a file out of every address space; private copies stay. */
    void unmapFrame(UserFile file, long page) {
        for (AddressSpace space : addressSpaces) {
            for (Vma vma : space.vmas().all()) {
                if (vma.file == file) {
                    space.zap().sharedFilePage(vma, page);
                }
            }
        }
    }
}
