package io.pagewalk.dma.memory;

/**
 * Memory as kernel code names it, by virtual address: the direct map, and mappings in the vmalloc area, which are made
 * here ({@code vmap}).
 *
 * <p>Access is as thread-safe as memory is; making and taking away mappings is thread-safe.
 */
public final class KernelMemory {
    /** What stands for "no memory behind that address". */
    public static final long NO_PHYS_ADDR = -1L;

    /** Where the {@code struct page} of frame 0 lies on x86-64 with four-level paging; each has 64 bytes. */
    private static final long VMEMMAP = 0xffff_ea00_0000_0000L;

    private static final int STRUCT_PAGE_SHIFT = 6;

    private final KernelLayout layout;
    private final CpuMemory memory;
    private final VmallocArea vmalloc;

    /**
     * Makes the kernel's view of a machine's memory.
     *
     * @param layout the virtual layout
     * @param memory the CPU's view of the bytes
     */
    public KernelMemory(KernelLayout layout, CpuMemory memory) {
        this.layout = layout;
        this.memory = memory;
        this.vmalloc = new VmallocArea(layout.vmalloc());
    }

    /**
     * {@code vmap}: gives pages addresses that follow each other.
     *
     * @param pagePhysAddrs the pages in order
     * @return the address of the first, in the vmalloc area; 0 when the area is full
     */
    public long vmap(long[] pagePhysAddrs) {
        return vmalloc.map(pagePhysAddrs);
    }

    /**
     * {@code memremap}: gives pages that follow each other a second address. Costs the same whatever their number.
     *
     * @param physAddr the first page
     * @param count how many pages
     * @return the address of the first, in the vmalloc area; 0 when the area is full
     */
    public long vmapContiguous(long physAddr, long count) {
        return vmalloc.mapContiguous(physAddr, count);
    }

    /**
     * {@code vunmap}: takes a mapping away.
     *
     * @param virtAddr what {@link #vmap} gave
     * @throws IllegalStateException when nothing is mapped there; nothing changes then
     */
    public void vunmap(long virtAddr) {
        vmalloc.unmap(virtAddr);
    }

    /**
     * How many mappings of the vmalloc area are live.
     *
     * @return the count
     */
    public int vmapCount() {
        return vmalloc.mappingCount();
    }

    /**
     * The physical address behind a kernel virtual address.
     *
     * @param virtAddr an address
     * @return the physical address, RAM or not; {@link #NO_PHYS_ADDR} when it is neither in the direct map nor mapped
     */
    public long physAddr(long virtAddr) {
        if (layout.isDirectMap(virtAddr)) {
            return layout.virtToPhys(virtAddr);
        }
        return layout.isVmalloc(virtAddr) ? vmalloc.physAddr(virtAddr) : NO_PHYS_ADDR;
    }

    /**
     * The kernel's handle of a page that it has no mapping of: the address of its {@code struct page}, which is in
     * neither the direct map nor the vmalloc area (dma-core:ALC-2).
     *
     * @param physAddr an address of the page
     * @return the cookie
     */
    public static long pageCookie(long physAddr) {
        return VMEMMAP + (physAddr >>> Addresses.PAGE_SHIFT << STRUCT_PAGE_SHIFT);
    }

    /**
     * Whether software can read and write a range.
     *
     * @param virtAddr its first byte
     * @param sizeBytes its bytes
     * @return true when there is RAM behind every byte
     */
    public boolean isAccessible(long virtAddr, long sizeBytes) {
        for (long done = 0; Addresses.lessThan(done, sizeBytes); ) {
            long step = step(virtAddr + done, sizeBytes - done);
            long physAddr = physAddr(virtAddr + done);
            if (physAddr == NO_PHYS_ADDR || !memory.isRam(physAddr, step)) {
                return false;
            }
            done += step;
        }
        return true;
    }

    /**
     * Reads eight little-endian bytes at any alignment.
     *
     * @param virtAddr the first
     * @return the word
     * @throws IllegalArgumentException when there is no RAM behind one of them
     */
    public long getLong(long virtAddr) {
        if (step(virtAddr, Long.BYTES) == Long.BYTES) {
            return memory.getLong(require(virtAddr));
        }
        long value = 0;
        for (int i = 0; i < Long.BYTES; i++) {
            value |= (getByte(virtAddr + i) & 0xffL) << (Byte.SIZE * i);
        }
        return value;
    }

    /**
     * Writes eight little-endian bytes at any alignment.
     *
     * @param virtAddr the first
     * @param value the word
     * @throws IllegalArgumentException when there is no RAM behind one of them
     */
    public void putLong(long virtAddr, long value) {
        if (step(virtAddr, Long.BYTES) == Long.BYTES) {
            memory.putLong(require(virtAddr), value);
            return;
        }
        for (int i = 0; i < Long.BYTES; i++) {
            memory.putByte(require(virtAddr + i), (byte) (value >>> (Byte.SIZE * i)));
        }
    }

    /**
     * Reads a byte.
     *
     * @param virtAddr its address
     * @return the byte
     * @throws IllegalArgumentException when there is no RAM behind it
     */
    public byte getByte(long virtAddr) {
        return memory.getByte(require(virtAddr));
    }

    /**
     * Writes one byte many times.
     *
     * @param virtAddr the first address
     * @param sizeBytes how many
     * @param value the byte
     * @throws IllegalArgumentException when there is no RAM behind one of them; those before it are written
     */
    public void fill(long virtAddr, long sizeBytes, byte value) {
        for (long done = 0; Addresses.lessThan(done, sizeBytes); ) {
            long step = step(virtAddr + done, sizeBytes - done);
            memory.fill(require(virtAddr + done), step, value);
            done += step;
        }
    }

    /** How many bytes from here on lie on one page. */
    private static long step(long virtAddr, long sizeBytes) {
        return Addresses.min(sizeBytes, Addresses.PAGE_SIZE - (virtAddr & ~Addresses.PAGE_MASK));
    }

    private long require(long virtAddr) {
        long physAddr = physAddr(virtAddr);
        if (physAddr == NO_PHYS_ADDR) {
            throw new IllegalArgumentException("no memory at kernel address " + Addresses.hex(virtAddr));
        }
        return physAddr;
    }
}
