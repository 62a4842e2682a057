package io.pagewalk.dma.memory;

/**
 * The kernel's virtual layout, as ranges of addresses: the direct map of physical memory, the vmalloc area, and the
 * kernel's text. Implements what dma-core:FE-3, dma-core:DBG-10 and rdma:DMA-6 ask about a pointer. Immutable.
 *
 * <p>A kernel stack is either in the direct map or in the vmalloc area, so it has no range of its own.
 */
public final class KernelLayout {

    /*
     * x86-64 with four-level paging and no randomisation: 64 TiB of direct map, 32 TiB of vmalloc, and the 512 MiB that text
     * and static data of the kernel image live in.
     */
    private static final KernelLayout X86_64 = new KernelLayout(
            new VirtRange(0xffff_8880_0000_0000L, 0xffff_c87f_ffff_ffffL),
            new VirtRange(0xffff_c900_0000_0000L, 0xffff_e8ff_ffff_ffffL),
            new VirtRange(0xffff_ffff_8000_0000L, 0xffff_ffff_9fff_ffffL));

    private final VirtRange directMap;
    private final VirtRange vmalloc;
    private final VirtRange text;

    private KernelLayout(VirtRange directMap, VirtRange vmalloc, VirtRange text) {
        this.directMap = directMap;
        this.vmalloc = vmalloc;
        this.text = text;
    }

    /**
     * Gives the layout of x86-64 with four-level paging and no randomisation.
     *
     * @return direct map from 0xffff888000000000, vmalloc from 0xffffc90000000000 to 0xffffe8ffffffffff, text from
     *     0xffffffff80000000
     */
    public static KernelLayout x86_64() {
        return X86_64;
    }

    /**
     * Makes a layout with ranges of one's own.
     *
     * @param directMap the direct map: its first address is where physical address 0 appears
     * @param vmalloc the vmalloc area
     * @param text the text and static data of the kernel
     * @return the layout
     * @throws IllegalArgumentException if two of the ranges overlap
     */
    public static KernelLayout of(VirtRange directMap, VirtRange vmalloc, VirtRange text) {
        requireApart("direct map", directMap, "vmalloc", vmalloc);
        requireApart("direct map", directMap, "text", text);
        requireApart("vmalloc", vmalloc, "text", text);
        return new KernelLayout(directMap, vmalloc, text);
    }

    private static void requireApart(String name1, VirtRange range1, String name2, VirtRange range2) {
        if (range1.contains(range2.first()) || range2.contains(range1.first())) {
            throw new IllegalArgumentException(name1 + " " + range1 + " and " + name2 + " " + range2 + " overlap");
        }
    }

    /**
     * Gives where the direct map shows a physical address. Like the kernel it checks nothing.
     *
     * @param physAddr a physical address
     * @return its virtual address; {@link #isDirectMap} tells whether that is one
     */
    public long physToVirt(long physAddr) {
        return directMap.first() + physAddr;
    }

    /**
     * Gives the physical address behind an address of the direct map. Like the kernel it checks nothing.
     *
     * @param virtAddr a virtual address for which {@link #isDirectMap} holds; the answer for others means nothing
     * @return the physical address
     */
    public long virtToPhys(long virtAddr) {
        return virtAddr - directMap.first();
    }

    /**
     * Says whether an address is one of the direct map.
     *
     * @param virtAddr a virtual address
     * @return true if it lies in the direct map, whether or not there is RAM behind it
     */
    public boolean isDirectMap(long virtAddr) {
        return directMap.contains(virtAddr);
    }

    /**
     * Says whether an address is one of the vmalloc area.
     *
     * @param virtAddr a virtual address
     * @return true if it lies in the vmalloc area
     */
    public boolean isVmalloc(long virtAddr) {
        return vmalloc.contains(virtAddr);
    }

    /**
     * Says whether an address belongs to the kernel image.
     *
     * @param virtAddr a virtual address
     * @return true if it lies in the range of text and static data
     */
    public boolean isText(long virtAddr) {
        return text.contains(virtAddr);
    }

    /**
     * Gives the direct map.
     *
     * @return its range of virtual addresses
     */
    public VirtRange directMap() {
        return directMap;
    }

    /**
     * Gives the vmalloc area.
     *
     * @return its range of virtual addresses
     */
    public VirtRange vmalloc() {
        return vmalloc;
    }

    /**
     * Gives the range of the kernel image.
     *
     * @return its range of virtual addresses
     */
    public VirtRange text() {
        return text;
    }

    @Override
    public String toString() {
        return "direct map " + directMap + ", vmalloc " + vmalloc + ", text " + text;
    }
}
