package io.pagewalk.dma.scatterlist;

import io.pagewalk.dma.memory.Addresses;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A scatterlist: entries of page, offset and length for the CPU, and DMA address and DMA length for the device, as a
 * structure of arrays. {@code origNents} counts the CPU's entries, {@code nents} the DMA segments after a map; they
 * stay apart (dma-core:SG-7).
 *
 * <p>A table gets its entries in one of two ways. A driver's own list is filled with {@link #add} or shaped with
 * {@link #init}, and reused with {@link #clear()}. An allocated list comes from {@link Scatterlists}, in chunks that
 * must be given back; there, {@link #entries()} and {@link #origNents()} need not agree.
 *
 * <p>Lengths and offsets are unsigned 32-bit, as in the kernel (SG-1). An offset may exceed a page (SG-6). An index
 * names an entry that carries data; CHAIN entries have none, so indices run on over the ends of chunks. What stands at
 * an index from {@link #entries()} on is not defined. Not thread-safe.
 */
public final class SgTable {
    /*
     * Entries stay flat over all chunks, so that any of them is one array access away. Flat indices are stable: the only
     * entry that ever becomes a CHAIN is the last of the last chunk, which carries nothing yet (SGA-8), and the first
     * entry of the new chunk takes over its index. The chunks themselves are needed to see what is freed and what leaks.
     */

    /** How many entries a table can have: 64 GiB of single pages. */
    public static final int MAX_ENTRIES = 1 << 24;

    static final long U32 = 0xffff_ffffL;

    private static final byte END = 1;
    private static final byte BUS_ADDRESS = 2;

    private long[] pageAddrs;
    private int[] offsets;
    private int[] lengths;
    private long[] dmaAddrs;
    private int[] dmaLengths;
    private byte[] flags;
    private boolean hasDmaFlags = true;
    private boolean bounced;
    private @Nullable List<SgChunk> chunks;
    private int entries;
    private int origNents;
    private int nents;

    /**
     * Makes an empty table.
     *
     * @param capacity how many entries it holds before it grows, from 1 to {@link #MAX_ENTRIES}
     * @throws IllegalArgumentException when it is less or more
     */
    public SgTable(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("a table needs room for an entry, not for " + capacity);
        }
        requireRoom(capacity);
        pageAddrs = new long[capacity];
        offsets = new int[capacity];
        lengths = new int[capacity];
        dmaAddrs = new long[capacity];
        dmaLengths = new int[capacity];
        flags = new byte[capacity];
    }

    /**
     * Empties the table, DMA fields and flags included.
     *
     * @throws IllegalStateException when its list is allocated: it has to be freed
     */
    public void clear() {
        requireOwnList("cleared");
        Arrays.fill(dmaAddrs, 0, entries, 0);
        Arrays.fill(dmaLengths, 0, entries, 0);
        Arrays.fill(flags, 0, entries, (byte) 0);
        bounced = false;
        entries = 0;
        origNents = 0;
        nents = 0;
    }

    /**
     * {@code sg_init_table}: gives the table so many zeroed entries, the last of which ends the list (dma-core:SG-5).
     *
     * @param count how many, from 1 to {@link #MAX_ENTRIES}
     * @return this
     * @throws IllegalArgumentException when there is nothing to end, or there are too many
     * @throws IllegalStateException when its list is allocated
     */
    public SgTable init(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("a list of " + count + " entries has no last one (dma-core:SG-5)");
        }
        requireRoom(count);
        clear();
        addZeroed(count);
        origNents = count;
        return this;
    }

    /**
     * {@code sg_init_one}: makes the table a list of one buffer (dma-core:SG-5).
     *
     * @param physAddr first byte
     * @param lengthBytes length, at most 4 GiB - 1
     * @return this
     * @throws IllegalArgumentException when the length needs more than 32 bits
     * @throws IllegalStateException when its list is allocated
     */
    public SgTable initOne(long physAddr, long lengthBytes) {
        requireU32("length", lengthBytes);
        init(1).setPage(0, pageOf(physAddr), offsetOf(physAddr), lengthBytes);
        return this;
    }

    private void requireOwnList(String what) {
        if (chunks != null) {
            throw new IllegalStateException("an allocated list is freed, not " + what + " (dma-core:SG-12)");
        }
    }

    private static long pageOf(long physAddr) {
        return physAddr & Addresses.PAGE_MASK;
    }

    private static long offsetOf(long physAddr) {
        return physAddr & ~Addresses.PAGE_MASK;
    }

    /**
     * Appends an entry for a run of physical memory.
     *
     * @param physAddr first byte
     * @param lengthBytes length, at most 4 GiB - 1
     * @return this
     */
    public SgTable add(long physAddr, long lengthBytes) {
        return add(pageOf(physAddr), offsetOf(physAddr), lengthBytes);
    }

    /**
     * Appends an entry.
     *
     * @param pageAddr physical address of a page
     * @param offset from that page's start in bytes, at most 4 GiB - 1
     * @param lengthBytes length, at most 4 GiB - 1
     * @return this
     * @throws IllegalArgumentException when offset or length need more than 32 bits, the page address is not one, or
     *     there are {@link #MAX_ENTRIES} already
     * @throws IllegalStateException when the list is allocated, or was freed and not cleared
     */
    public SgTable add(long pageAddr, long offset, long lengthBytes) {
        requireEntry(pageAddr, offset, lengthBytes);
        requireOwnList("added to");
        if (entries != origNents) {
            throw new IllegalStateException(
                    "a table that counts " + origNents + " entries and has " + entries + " must be cleared first");
        }
        growFor(entries + 1);
        pageAddrs[entries] = pageAddr;
        offsets[entries] = (int) offset;
        lengths[entries] = (int) lengthBytes;
        dmaAddrs[entries] = 0;
        dmaLengths[entries] = 0;
        flags[entries] = 0;
        entries++;
        origNents = entries;
        return this;
    }

    static void requireU32(String what, long value) {
        if ((value & ~U32) != 0) {
            throw new IllegalArgumentException(what + " " + Addresses.hex(value) + " is not a 32-bit number");
        }
    }

    private static void requireEntry(long pageAddr, long offset, long lengthBytes) {
        if ((offset & ~U32) != 0 || (lengthBytes & ~U32) != 0) {
            throw new IllegalArgumentException("offset " + Addresses.hex(offset) + " and length "
                    + Addresses.hex(lengthBytes) + " of an entry are 32-bit (dma-core:SG-1)");
        }
        if ((pageAddr & (Addresses.PAGE_SIZE - 1)) != 0) {
            throw new IllegalArgumentException(Addresses.hex(pageAddr) + " is not the address of a page");
        }
    }

    private static void requireRoom(int count) {
        if (count > MAX_ENTRIES) {
            throw new IllegalArgumentException("a table holds " + MAX_ENTRIES + " entries, not " + count);
        }
    }

    private void growFor(int count) {
        if (count > pageAddrs.length) {
            requireRoom(count);
            int capacity = Math.max(count, pageAddrs.length * 2);
            pageAddrs = Arrays.copyOf(pageAddrs, capacity);
            offsets = Arrays.copyOf(offsets, capacity);
            lengths = Arrays.copyOf(lengths, capacity);
            dmaAddrs = Arrays.copyOf(dmaAddrs, capacity);
            dmaLengths = Arrays.copyOf(dmaLengths, capacity);
            flags = Arrays.copyOf(flags, capacity);
        }
    }

    /**
     * {@code sg_set_page}: gives an entry its page; END and the DMA side stay (dma-core:SG-6).
     *
     * @param index from 0, below {@link #entries()}
     * @param pageAddr physical address of a page
     * @param offset from that page's start in bytes, at most 4 GiB - 1
     * @param lengthBytes length, at most 4 GiB - 1
     * @throws IndexOutOfBoundsException when there is no such entry
     * @throws IllegalArgumentException when offset or length need more than 32 bits, or the page address is not one
     */
    public void setPage(int index, long pageAddr, long offset, long lengthBytes) {
        requireIndex(index);
        requireEntry(pageAddr, offset, lengthBytes);
        pageAddrs[index] = pageAddr;
        offsets[index] = (int) offset;
        lengths[index] = (int) lengthBytes;
    }

    private void requireIndex(int index) {
        if (index < 0 || index >= entries) {
            throw new IndexOutOfBoundsException("entry " + index + " of a list of " + entries);
        }
    }

    /**
     * The entries that exist and carry data, used or not: those of the chunks without the CHAIN entries.
     *
     * @return the count, 0 when the list is null
     */
    public int entries() {
        return entries;
    }

    /**
     * Whether an entry ends the list (dma-core:SG-4). The last one always does.
     *
     * @param index from 0, below {@link #entries()}
     * @return whether it has END
     */
    public boolean isEnd(int index) {
        return index == entries - 1 || (flags[index] & END) != 0;
    }

    /**
     * {@code sg_mark_end}: ends the list at an entry (dma-core:SG-3).
     *
     * @param index from 0, below {@link #entries()}
     * @throws IndexOutOfBoundsException when there is no such entry
     */
    public void markEnd(int index) {
        requireIndex(index);
        flags[index] |= END;
    }

    /**
     * {@code sg_next}: steps to the next entry, over the ends of chunks (dma-core:SG-4).
     *
     * @param index from 0, below {@link #entries()}
     * @return the next index, or -1 after the entry that ends the list
     */
    public int next(int index) {
        return isEnd(index) ? -1 : index + 1;
    }

    /**
     * The chunks of an allocated list, in the order of the chain. Each but the last gives its last entry to the CHAIN
     * (dma-core:SG-10).
     *
     * @return a copy; empty for a driver's own list, and when the list is null
     */
    public List<SgChunk> chunks() {
        return chunks == null ? List.of() : List.copyOf(chunks);
    }

    /**
     * The CPU's entries.
     *
     * @return the count, which freeing keeps (dma-core:SG-12)
     */
    public int origNents() {
        return origNents;
    }

    /**
     * The DMA segments of the latest map.
     *
     * @return the count; before a map, 0 for a driver's own list and {@link #origNents()} for an allocated one
     */
    public int nents() {
        return nents;
    }

    /**
     * Notes the number of DMA segments.
     *
     * @param count what a map returned
     */
    public void mapped(int count) {
        nents = count;
    }

    /**
     * Physical address of an entry: page plus offset, {@code sg_phys}. The direct map shows it at {@code sg_virt}
     * (dma-core:SG-6).
     *
     * @param index from 0
     * @return its first byte
     */
    public long physAddr(int index) {
        return pageAddrs[index] + (offsets[index] & U32);
    }

    /**
     * Physical address of an entry's page.
     *
     * @param index from 0
     * @return the page
     */
    public long pageAddr(int index) {
        return pageAddrs[index];
    }

    /**
     * Offset of an entry from its page.
     *
     * @param index from 0
     * @return bytes, unsigned 32-bit
     */
    public long offset(int index) {
        return offsets[index] & U32;
    }

    /**
     * Length of an entry for the CPU.
     *
     * @param index from 0
     * @return bytes, unsigned 32-bit
     */
    public long lengthBytes(int index) {
        return lengths[index] & U32;
    }

    /**
     * Changes offset and length of an entry, as a mapping layer does for a while (iommu:SG-7).
     *
     * @param index from 0
     * @param offset bytes; the low 32 bits are kept
     * @param lengthBytes bytes; the low 32 bits are kept
     */
    public void resize(int index, long offset, long lengthBytes) {
        offsets[index] = (int) offset;
        lengths[index] = (int) lengthBytes;
    }

    /**
     * DMA address of a segment.
     *
     * @param index from 0
     * @return the address
     */
    public long dmaAddr(int index) {
        return dmaAddrs[index];
    }

    /**
     * Length of a segment for the device.
     *
     * @param index from 0
     * @return bytes, unsigned 32-bit
     */
    public long dmaLengthBytes(int index) {
        return dmaLengths[index] & U32;
    }

    /**
     * Fills in a segment's DMA side.
     *
     * @param index from 0
     * @param dmaAddr the address
     * @param dmaLengthBytes bytes; the low 32 bits are kept
     */
    public void setDma(int index, long dmaAddr, long dmaLengthBytes) {
        dmaAddrs[index] = dmaAddr;
        dmaLengths[index] = (int) dmaLengthBytes;
    }

    /**
     * Whether a segment is a bus address of a peer, which nobody unmaps (dma-core:SG-2).
     *
     * @param index from 0
     * @return what {@link #setBusAddress} said last; false where entries have no DMA flags
     */
    public boolean isBusAddress(int index) {
        return (flags[index] & BUS_ADDRESS) != 0;
    }

    /**
     * Sets or clears the flag of {@link #isBusAddress}. Does nothing where entries have no DMA flags.
     *
     * @param index from 0
     * @param yes the flag
     */
    public void setBusAddress(int index, boolean yes) {
        int others = flags[index] & ~BUS_ADDRESS;
        flags[index] = (byte) (yes && hasDmaFlags ? others | BUS_ADDRESS : others);
    }

    /**
     * Whether entries of the list may be bounced one by one (dma-core:SG-2, the SWIOTLB flag).
     *
     * @return what {@link #markBounced} said last; false where entries have no DMA flags
     */
    public boolean isBounced() {
        return bounced;
    }

    /**
     * Sets or clears the mark of {@link #isBounced()}. Does nothing where entries have no DMA flags.
     *
     * @param yes the mark
     */
    public void markBounced(boolean yes) {
        bounced = yes && hasDmaFlags;
    }

    /** The chunks of an allocated list, null for a list of the driver's own and for none. */
    @Nullable List<SgChunk> chain() {
        return chunks;
    }

    /** Zeroes the table: no list, nothing counted. Chunks that nobody freed are lost. */
    void zero() {
        chunks = null;
        clear();
    }

    /** Makes a chunk the head of the list; what was the list before is lost. */
    void startChain(SgChunk chunk, boolean withDmaFlags) {
        chunks = new ArrayList<>();
        entries = 0;
        bounced = false;
        hasDmaFlags = withDmaFlags;
        append(chunk, chunks);
    }

    /** Makes the last entry a CHAIN to one more chunk. */
    void extendChain(SgChunk chunk) {
        entries--;
        append(chunk, Objects.requireNonNull(chunks));
    }

    private void append(SgChunk chunk, List<SgChunk> chain) {
        addZeroed(chunk.entries());
        chain.add(chunk);
    }

    private void addZeroed(int count) {
        int first = entries;
        int end = Math.addExact(first, count);
        growFor(end);
        Arrays.fill(pageAddrs, first, end, 0);
        Arrays.fill(offsets, first, end, 0);
        Arrays.fill(lengths, first, end, 0);
        Arrays.fill(dmaAddrs, first, end, 0);
        Arrays.fill(dmaLengths, first, end, 0);
        Arrays.fill(flags, first, end, (byte) 0);
        entries = end;
    }

    /** Sets the list to null and keeps the counts (dma-core:SG-12). */
    void dropList() {
        chunks = null;
        entries = 0;
    }

    void count(int newNents) {
        nents = newNents;
        origNents = newNents;
    }

    /** Takes over everything of a table that nobody uses afterwards. */
    void moveFrom(SgTable other) {
        pageAddrs = other.pageAddrs;
        offsets = other.offsets;
        lengths = other.lengths;
        dmaAddrs = other.dmaAddrs;
        dmaLengths = other.dmaLengths;
        flags = other.flags;
        hasDmaFlags = other.hasDmaFlags;
        bounced = other.bounced;
        chunks = other.chunks;
        entries = other.entries;
        origNents = other.origNents;
        nents = other.nents;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("SgTable[origNents=" + origNents + ", nents=" + nents);
        for (int i = 0; i < Math.min(Math.min(entries, origNents), 8); i++) {
            text.append(", ").append(Addresses.hex(physAddr(i))).append("+").append(Addresses.hex(lengthBytes(i)));
        }
        return text.append(origNents > 8 ? ", ...]" : "]").toString();
    }
}
