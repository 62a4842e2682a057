package io.pagewalk.dma.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntFunction;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Which direct buffer backs which chunk of RAM, and the coming and going of those buffers.
 *
 * <p>Thread-safe: looking up takes no lock, changing the table takes one.
 */
final class ChunkTable {

    /*
     * Memory is cut into chunks of a power of two. The buffers of the first NEAR_CHUNKS of them (128 GiB in default chunks) stand in
     * one flat array, so that a look-up there is one load and one comparison with null. Those of the far ones stand in leaves of
     * LEAF_CHUNKS each, which a directory lists. Leaves appear when their first chunk does; until then all directory entries are
     * one empty leaf. So terabytes in small chunks start at once too.
     *
     * A chunk that is RAM from end to end ("whole") has its buffer in these arrays: whoever finds one there need not ask the RAM
     * map. A chunk at the edge of a hole ("partial") never appears in them but in a short sorted list of its own, which only the
     * slow paths read, after asking the RAM map. So holes are exact to the byte and cost the fast path nothing.
     *
     * A buffer is complete before a release store publishes it, and look-ups are acquire loads: no thread sees a half-built
     * chunk. A leaf is published by a plain store: all a racing reader can miss in it is a chunk, and then it takes the slow path.
     */
    private static final int NEAR_CHUNKS = 1 << 16;

    private static final int LEAF_CHUNKS = 512;
    private static final int LEAF_SHIFT = 9;
    private static final int LEAF_MASK = LEAF_CHUNKS - 1;

    private static final VarHandle ENTRY = MethodHandles.arrayElementVarHandle(ByteBuffer[].class);

    private static final int SMALLEST_CHUNK = 64;
    private static final int LARGEST_CHUNK = 1 << 30;
    private static final int MOST_LEAVES = 1 << 22;

    /** Buffers start on a page of the host, so that no entry of an emulated table straddles a cache line. */
    private static final int HOST_PAGE = 4096;

    /** What a contiguous region must stay below: with its alignment it is one buffer, and buffers have int indices. */
    static final long LARGEST_REGION = (1L << 31) - HOST_PAGE;

    private static final long LARGEST_RECYCLER = 64L << 20;

    private final RamMap ram;
    private final int chunkSizeBytes;
    private final int chunkShift;
    private final IntFunction<ByteBuffer> directMemory;

    private final @Nullable ByteBuffer[] nearChunks;
    private final @Nullable ByteBuffer[][] directory;
    private final @Nullable ByteBuffer[] emptyLeaf = new ByteBuffer[LEAF_CHUNKS];

    private final long[] partialChunks;
    private final AtomicReferenceArray<@Nullable ByteBuffer> partialBuffers;

    private final List<ContiguousRegion> regions = new CopyOnWriteArrayList<>();
    private final ArrayDeque<ByteBuffer> recycler = new ArrayDeque<>();
    private final AtomicLong residentBytes = new AtomicLong();
    private final Object lock = new Object();

    /**
     * A stretch of whole chunks that one buffer backs.
     *
     * @param first its first byte
     * @param sizeBytes its bytes
     * @param buffer all of it
     */
    private record ContiguousRegion(long first, long sizeBytes, ByteBuffer buffer) {}

    ChunkTable(RamMap ram, int chunkSizeBytes, IntFunction<ByteBuffer> directMemory) {
        requireChunkSize(chunkSizeBytes);
        this.ram = ram;
        this.chunkSizeBytes = chunkSizeBytes;
        this.chunkShift = Integer.numberOfTrailingZeros(chunkSizeBytes);
        this.directMemory = directMemory;
        this.nearChunks = new ByteBuffer[(int) Math.min(indexOf(ram.top()) + 1, NEAR_CHUNKS)];
        this.directory = new ByteBuffer[leavesFor(ram)][];
        Arrays.fill(directory, emptyLeaf);
        this.partialChunks = findPartialChunks();
        this.partialBuffers = new AtomicReferenceArray<>(partialChunks.length);
    }

    private static void requireChunkSize(int chunkSizeBytes) {
        if (Integer.bitCount(chunkSizeBytes) != 1
                || chunkSizeBytes < SMALLEST_CHUNK
                || chunkSizeBytes > LARGEST_CHUNK) {
            throw new IllegalArgumentException("chunk size " + chunkSizeBytes + " is not a power of two from "
                    + SMALLEST_CHUNK + " to " + LARGEST_CHUNK);
        }
    }

    private int leavesFor(RamMap ram) {
        long leaves = (ram.top() >>> (chunkShift + LEAF_SHIFT)) + 1;
        if (Addresses.lessThan(MOST_LEAVES, leaves)) {
            throw new IllegalArgumentException(
                    "RAM up to " + Addresses.hex(ram.top()) + " needs chunks larger than " + chunkSizeBytes + " bytes");
        }
        return (int) leaves;
    }

    private long[] findPartialChunks() {
        return ram.ranges().stream()
                .flatMapToLong(range -> LongStream.of(range.first(), range.last()))
                .map(this::indexOf)
                .filter(index -> !ram.contains(firstOf(index), chunkSizeBytes))
                .sorted()
                .distinct()
                .toArray();
    }

    // ---- looking up

    /** The buffers of the first chunks, if they are whole and were touched. */
    @Nullable ByteBuffer[] nearChunks() {
        return nearChunks;
    }

    /** Loads an entry of {@link #nearChunks()} or of a leaf; what the buffer found was made of is visible. */
    static @Nullable ByteBuffer entryAcquire(@Nullable ByteBuffer[] entries, int slot) {
        return (ByteBuffer) ENTRY.getAcquire(entries, slot);
    }

    /** Gives the buffer of a whole chunk beyond the near ones; null if it was never touched or is not such a chunk. */
    @Nullable ByteBuffer findFar(long index) {
        long leaf = index >>> LEAF_SHIFT;
        return leaf < directory.length ? entryAcquire(directory[(int) leaf], (int) index & LEAF_MASK) : null;
    }

    long indexOf(long physAddr) {
        return physAddr >>> chunkShift;
    }

    long firstOf(long index) {
        return index << chunkShift;
    }

    int chunkSizeBytes() {
        return chunkSizeBytes;
    }

    /** Gives the buffer of a chunk of RAM, or null if it was never touched. */
    @Nullable ByteBuffer find(long index) {
        ByteBuffer whole = index < nearChunks.length ? entryAcquire(nearChunks, (int) index) : findFar(index);
        return whole != null || partialChunks.length == 0 ? whole : findPartial(index);
    }

    private @Nullable ByteBuffer findPartial(long index) {
        int partial = Arrays.binarySearch(partialChunks, index);
        return partial < 0 ? null : partialBuffers.get(partial);
    }

    /** Gives the buffer of a chunk of RAM, a zeroed one if it was never touched. */
    ByteBuffer touch(long index) {
        ByteBuffer found = find(index);
        return found != null ? found : create(index);
    }

    long residentBytes() {
        return residentBytes.get();
    }

    // ---- creating

    private ByteBuffer create(long index) {
        synchronized (lock) {
            ByteBuffer raced = find(index);
            if (raced != null) {
                return raced;
            }
            ByteBuffer chunk = recycledOrNew(index);
            publish(index, chunk);
            residentBytes.addAndGet(chunkSizeBytes);
            return chunk;
        }
    }

    private ByteBuffer recycledOrNew(long index) {
        ByteBuffer recycled = recycler.poll();
        if (recycled == null) {
            return allocate(firstOf(index), chunkSizeBytes);
        }
        ZeroBlock.zero(recycled, 0, chunkSizeBytes);
        return recycled;
    }

    private ByteBuffer allocate(long physAddr, int sizeBytes) {
        int alignBytes = Math.min(chunkSizeBytes, HOST_PAGE);
        ByteBuffer raw = reserveDirect(physAddr, sizeBytes + alignBytes);
        return littleEndian(raw.alignedSlice(alignBytes).slice(0, sizeBytes));
    }

    private ByteBuffer reserveDirect(long physAddr, int sizeBytes) {
        try {
            return directMemory.apply(sizeBytes);
        } catch (OutOfMemoryError e) {
            if (recycler.isEmpty()) {
                throw new DirectMemoryExhaustedException(physAddr, sizeBytes, residentBytes(), e);
            }
            recycler.clear();
            return reserveDirect(physAddr, sizeBytes);
        }
    }

    private static ByteBuffer littleEndian(ByteBuffer buffer) {
        return buffer.order(ByteOrder.LITTLE_ENDIAN);
    }

    private void publish(long index, @Nullable ByteBuffer chunk) {
        int partial = Arrays.binarySearch(partialChunks, index);
        if (partial >= 0) {
            partialBuffers.set(partial, chunk);
        } else if (index < nearChunks.length) {
            ENTRY.setRelease(nearChunks, (int) index, chunk);
        } else {
            ENTRY.setRelease(leafFor(index), (int) index & LEAF_MASK, chunk);
        }
    }

    private @Nullable ByteBuffer[] leafFor(long index) {
        int leaf = (int) (index >>> LEAF_SHIFT);
        if (directory[leaf] == emptyLeaf) {
            directory[leaf] = new ByteBuffer[LEAF_CHUNKS];
        }
        return directory[leaf];
    }

    // ---- contiguous regions

    /** Backs a run of chunks with one buffer; {@link PhysicalMemory#contiguousRegion} has the contract. */
    ByteBuffer contiguousRegion(long physAddr, long sizeBytes) {
        requireNotEmpty(physAddr, sizeBytes);
        requireRegionShape(physAddr, sizeBytes);
        ram.require(physAddr, sizeBytes);
        return createRegion(physAddr, (int) sizeBytes);
    }

    private void requireRegionShape(long physAddr, long sizeBytes) {
        if (!Addresses.isAligned(physAddr | sizeBytes, chunkSizeBytes)) {
            throw new IllegalArgumentException("contiguous region " + Addresses.hexRange(physAddr, sizeBytes)
                    + " is not made of whole chunks of " + Addresses.hex(chunkSizeBytes) + " bytes");
        }
        if (!Addresses.lessThan(sizeBytes, LARGEST_REGION)) {
            throw new IllegalArgumentException("contiguous region " + Addresses.hexRange(physAddr, sizeBytes)
                    + " is not below " + Addresses.hex(LARGEST_REGION) + " bytes");
        }
    }

    private static void requireNotEmpty(long physAddr, long sizeBytes) {
        if (sizeBytes == 0) {
            throw new IllegalArgumentException("range at " + Addresses.hex(physAddr) + " has no bytes");
        }
    }

    private ByteBuffer createRegion(long physAddr, int sizeBytes) {
        synchronized (lock) {
            requireUntouched(physAddr, sizeBytes);
            ByteBuffer buffer = allocate(physAddr, sizeBytes);
            for (int offset = 0; offset < sizeBytes; offset += chunkSizeBytes) {
                publish(indexOf(physAddr + offset), littleEndian(buffer.slice(offset, chunkSizeBytes)));
            }
            regions.add(new ContiguousRegion(physAddr, sizeBytes, buffer));
            residentBytes.addAndGet(sizeBytes);
            return buffer;
        }
    }

    private void requireUntouched(long physAddr, int sizeBytes) {
        for (int offset = 0; offset < sizeBytes; offset += chunkSizeBytes) {
            if (find(indexOf(physAddr + offset)) != null) {
                throw new IllegalStateException(
                        "memory at " + Addresses.hexRange(physAddr + offset, chunkSizeBytes) + " is in use already, so "
                                + Addresses.hexRange(physAddr, sizeBytes) + " cannot become one contiguous region");
            }
        }
    }

    /** Gives a window to a range; {@link PhysicalMemory#view} has the contract. */
    ByteBuffer view(long physAddr, long sizeBytes) {
        requireNotEmpty(physAddr, sizeBytes);
        ram.require(physAddr, sizeBytes);
        ByteBuffer regionView = regionView(physAddr, sizeBytes);
        return regionView != null ? regionView : chunkView(physAddr, sizeBytes);
    }

    private ByteBuffer chunkView(long physAddr, long sizeBytes) {
        int offset = (int) physAddr & (chunkSizeBytes - 1);
        if (Addresses.lessThan(chunkSizeBytes - offset, sizeBytes)) {
            throw new IllegalArgumentException("a view of " + Addresses.hexRange(physAddr, sizeBytes)
                    + " would cross chunks of " + Addresses.hex(chunkSizeBytes) + " bytes");
        }
        return littleEndian(touch(indexOf(physAddr)).slice(offset, (int) sizeBytes));
    }

    /** Gives a view of part of a contiguous region, or null if no region holds all of it. */
    private @Nullable ByteBuffer regionView(long physAddr, long sizeBytes) {
        for (ContiguousRegion region : regions) {
            if (Addresses.contains(region.first(), region.sizeBytes(), physAddr, sizeBytes)) {
                int offset = (int) (physAddr - region.first());
                return littleEndian(region.buffer().slice(offset, (int) sizeBytes));
            }
        }
        return null;
    }

    private boolean isInRegion(long physAddr) {
        for (ContiguousRegion region : regions) {
            if (Addresses.contains(region.first(), region.sizeBytes(), physAddr, 1)) {
                return true;
            }
        }
        return false;
    }

    // ---- letting go

    /** Takes the buffers away from a run of whole chunks; chunks of contiguous regions are zeroed instead. */
    void release(long firstIndex, long lastIndex) {
        long index = firstIndex;
        while (index <= lastIndex) {
            if (index >= nearChunks.length && directory[(int) (index >>> LEAF_SHIFT)] == emptyLeaf) {
                index = (index | LEAF_MASK) + 1;
            } else {
                releaseChunk(index);
                index++;
            }
        }
    }

    private void releaseChunk(long index) {
        if (find(index) == null) {
            return;
        }
        synchronized (lock) {
            ByteBuffer chunk = find(index);
            if (chunk != null && isInRegion(firstOf(index))) {
                ZeroBlock.zero(chunk, 0, chunkSizeBytes);
            } else if (chunk != null) {
                publish(index, null);
                residentBytes.addAndGet(-chunkSizeBytes);
                recycle(chunk);
            }
        }
    }

    private void recycle(ByteBuffer chunk) {
        if ((recycler.size() + 1L) * chunkSizeBytes <= Math.max(LARGEST_RECYCLER, chunkSizeBytes)) {
            recycler.push(chunk);
        }
    }
}
