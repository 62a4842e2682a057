package io.pagewalk.backends.iommu.pgtable;

import io.pagewalk.dma.memory.PhysicalMemory;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The way to table entries in physical memory: straight through one buffer where the tables of a {@link TablePool} lie,
 * through {@link PhysicalMemory} anywhere else. Both ways reach the same bytes.
 *
 * <p>Entries are 8 aligned bytes. Thread-safe; allocates nothing.
 */
public final class TableMemory {
    private static final VarHandle ENTRY = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final ByteBuffer NO_WINDOW = ByteBuffer.allocateDirect(0);

    private final PhysicalMemory memory;
    private final ByteBuffer window;
    private final long windowPhysAddr;
    private final long windowBytes;

    /**
     * Takes the general way everywhere.
     *
     * @param memory the machine's memory
     */
    public TableMemory(PhysicalMemory memory) {
        this(memory, NO_WINDOW, 0);
    }

    /**
     * Takes the short way through a buffer where it can.
     *
     * @param memory the machine's memory
     * @param window a contiguous region of that memory
     * @param windowPhysAddr where the region begins
     */
    TableMemory(PhysicalMemory memory, ByteBuffer window, long windowPhysAddr) {
        this.memory = memory;
        this.window = window;
        this.windowPhysAddr = windowPhysAddr;
        this.windowBytes = window.capacity();
    }

    /**
     * Reads an entry in one piece. A table found through it is seen as it was when it was linked: its address had to be
     * read first. Nothing else is ordered; whoever must see the latest entry has passed a lock or an
     * {@code AccessGuard}.
     *
     * @param physAddr where it lies, a multiple of 8 in RAM
     * @return its value
     */
    public long entry(long physAddr) {
        // An acquire here would fence each level of a walk from the next for nothing: levels depend on each other.
        long offset = physAddr - windowPhysAddr;
        return isInWindow(offset) ? (long) ENTRY.get(window, (int) offset) : memory.getLong(physAddr);
    }

    /**
     * Writes an entry; what it points to was written before it.
     *
     * @param physAddr where it lies, in RAM
     * @param entry its value
     */
    public void entryRelease(long physAddr, long entry) {
        long offset = physAddr - windowPhysAddr;
        if (isInWindow(offset)) {
            ENTRY.setRelease(window, (int) offset, entry);
        } else {
            memory.putLongRelease(physAddr, entry);
        }
    }

    /**
     * Writes an entry if it has an expected value.
     *
     * @param physAddr where it lies, in RAM
     * @param expected the value it must have
     * @param entry the value it gets
     * @return the value it had
     */
    public long compareAndExchangeEntry(long physAddr, long expected, long entry) {
        long offset = physAddr - windowPhysAddr;
        return isInWindow(offset)
                ? (long) ENTRY.compareAndExchange(window, (int) offset, expected, entry)
                : memory.compareAndExchangeLong(physAddr, expected, entry);
    }

    /**
     * Tells whether an entry can be read at all.
     *
     * @param physAddr where it would lie
     * @return true for RAM
     */
    public boolean isReachable(long physAddr) {
        return isInWindow(physAddr - windowPhysAddr) || memory.isRam(physAddr, Long.BYTES);
    }

    private boolean isInWindow(long offset) {
        return Long.compareUnsigned(offset, windowBytes) < 0;
    }
}
