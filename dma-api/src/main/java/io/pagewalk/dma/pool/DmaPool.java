package io.pagewalk.dma.pool;

import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.memory.KernelMemory;
import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * {@code dma_pool}: small blocks of coherent memory of one size, such as descriptors, cut from pages that are kept
 * until the pool is destroyed.
 *
 * <p>Implements dma-core:POOL-1 to POOL-7. Thread-safe, by one lock. Allocating and freeing a block makes no objects
 * but for a new page.
 */
public final class DmaPool {
    private static final int NAME_MAX = 31;

    private final String name;
    private final Device device;
    private final int cpu;
    private final PoolShape shape;
    private final KernelMemory memory;
    private final KernelLog log;
    private final FailurePoint pagePoint;
    private final @Nullable PoolPoison poison;
    private final ArrayDeque<PoolPage> pages = new ArrayDeque<>();
    private final FreeBlocks free;
    private final Object lock = new Object();
    private long activeBlocks;
    private long totalBlocks;
    private boolean destroyed;

    private DmaPool(String name, Dma dma, PoolShape shape) {
        this.name = name.substring(0, Math.min(name.length(), NAME_MAX));
        this.device = dma.device();
        this.cpu = dma.cpu();
        this.shape = shape;
        this.memory = device.machine().kernelMemory();
        this.log = device.machine().log();
        this.pagePoint = device.machine().failures().point("dma_pool.page");
        this.free = new FreeBlocks(memory);
        this.poison = device.machine().kernelConfig().slubDebug() ? new PoolPoison(this, memory, log) : null;
    }

    /**
     * {@code dma_pool_create} (dma-core:POOL-1).
     *
     * @param name for the {@code pools} file; 31 characters are kept
     * @param dma the device, and the CPU that its pages are allocated on; or null
     * @param sizeBytes bytes of a block, 1 to 2^31 - 1; rounded up to 16 and to the alignment
     * @param align alignment of a block, a power of two, or 0 for none
     * @param boundary no block crosses a multiple of it: a power of two not below a block, or 0 for none
     * @return the pool; null without a device, for values that are not as said, or without memory
     */
    public static @Nullable DmaPool create(String name, @Nullable Dma dma, long sizeBytes, long align, long boundary) {
        Objects.requireNonNull(name, "name");
        PoolShape shape = PoolShape.of(sizeBytes, align, boundary);
        if (dma == null || shape == null) {
            return null;
        }
        Device device = dma.device();
        DmaPool pool = new DmaPool(name, dma, shape);
        if (device.machine().failures().point("dma_pool.create").fails()) {
            return null;
        }
        device.pools().add(pool);
        return pool;
    }

    /**
     * {@code dma_pool_alloc} on the CPU that the pool was created for.
     *
     * @param gfp bits of {@link Gfp}; {@link Gfp#ZERO} zeroes the block
     * @return a new block, or null
     */
    public @Nullable PoolBlock alloc(int gfp) {
        PoolBlock block = new PoolBlock();
        return alloc(cpu, gfp, block) ? block : null;
    }

    /**
     * {@code dma_pool_alloc} (dma-core:POOL-4).
     *
     * @param onCpu the CPU that allocates
     * @param gfp bits of {@link Gfp}; {@link Gfp#ZERO} zeroes the block, which else holds what it held
     * @param block gets the addresses
     * @return false, with the block unchanged, when there is no memory for a page
     * @throws io.pagewalk.dma.KernelBugException when the driver has spoilt the list of free blocks (POOL-5)
     * @throws IllegalStateException when the pool was destroyed
     */
    public boolean alloc(int onCpu, int gfp, PoolBlock block) {
        if (!takeFree(block)) {
            PoolPage page = allocPage(onCpu, gfp);
            if (page == null) {
                return false;
            }
            takeFromNew(page, block);
        }
        boolean zeroed = Gfp.has(gfp, Gfp.ZERO);
        if (poison != null) {
            poison.allocated(block, zeroed);
        }
        if (zeroed) {
            memory.fill(block.cpuAddr(), shape.blockBytes(), (byte) 0);
        }
        return true;
    }

    private boolean takeFree(PoolBlock block) {
        synchronized (lock) {
            requireAlive();
            if (free.isEmpty()) {
                return false;
            }
            free.pop(block);
            activeBlocks++;
            return true;
        }
    }

    private void takeFromNew(PoolPage page, PoolBlock block) {
        synchronized (lock) {
            pages.addFirst(page);
            totalBlocks += free.add(page, shape);
            free.pop(block);
            activeBlocks++;
        }
    }

    private @Nullable PoolPage allocPage(int onCpu, int gfp) {
        if (pagePoint.fails()) {
            return null;
        }
        CoherentBuffer buffer = device.dma(onCpu).memory().allocCoherent(shape.pageBytes(), gfp & ~Gfp.ZERO);
        if (buffer == null) {
            return null;
        }
        PoolPage page = PoolPage.of(buffer);
        if (poison != null) {
            poison.fresh(page);
        }
        return page;
    }

    /**
     * {@code dma_pool_free}: like the kernel it believes both addresses (dma-core:POOL-5), unless {@code SLUB_DEBUG_ON}
     * is set: then an address of no page and a block that is free already are reported, and nothing is freed (POOL-6).
     *
     * @param cpuAddr the block's CPU address
     * @param dmaAddr its DMA address
     * @throws io.pagewalk.dma.KernelBugException when there is no memory at the CPU address; nothing changes then
     * @throws IllegalStateException when the pool was destroyed
     */
    public void free(long cpuAddr, long dmaAddr) {
        synchronized (lock) {
            requireAlive();
            if (poison != null && poison.refusesFree(cpuAddr, dmaAddr)) {
                return;
            }
            free.push(cpuAddr, dmaAddr);
            activeBlocks--;
        }
    }

    /**
     * {@link #free(long, long)} of a block.
     *
     * @param block what an allocation filled in
     */
    public void free(PoolBlock block) {
        free(block.cpuAddr(), block.dmaAddr());
    }

    /**
     * {@code dma_pool_destroy}: frees the pages; while blocks are in use it reports that the pool is busy, and leaks
     * them (dma-core:POOL-7).
     *
     * @param pool the pool, or null
     * @throws IllegalStateException when it was destroyed already
     */
    public static void destroy(@Nullable DmaPool pool) {
        if (pool != null) {
            pool.destroy();
        }
    }

    private void destroy() {
        synchronized (lock) {
            requireAlive();
            destroyed = true;
        }
        device.pools().remove(this);
        if (activeBlocks != 0) {
            log.message(
                    "dma_pool_destroy",
                    device.name() + ": pool " + name + " is busy, " + Long.toUnsignedString(activeBlocks)
                            + " blocks in use (dma-core:POOL-7)");
            return;
        }
        for (PoolPage page : pages) {
            page.memory().close();
        }
    }

    private void requireAlive() {
        if (destroyed) {
            throw new IllegalStateException("pool " + name + " of " + device.name() + " was destroyed");
        }
    }

    /** Finds the page of a block, by its DMA address. Under the lock. */
    @Nullable PoolPage pageOf(long dmaAddr) {
        for (PoolPage page : pages) {
            if (page.holds(dmaAddr)) {
                return page;
            }
        }
        return null;
    }

    /** Whether a block is free already. Under the lock. */
    boolean isFree(long cpuAddr) {
        return free.contains(cpuAddr, totalBlocks);
    }

    Device device() {
        return device;
    }

    /**
     * The name.
     *
     * @return at most 31 characters
     */
    public String name() {
        return name;
    }

    /**
     * Bytes of a block.
     *
     * @return the size asked for, rounded up
     */
    public long blockBytes() {
        return shape.blockBytes();
    }

    /**
     * Blocks in use.
     *
     * @return the count, which wraps below 0 when more are freed than were allocated
     */
    public long activeBlocks() {
        synchronized (lock) {
            return activeBlocks;
        }
    }

    /**
     * Blocks in all pages.
     *
     * @return the count
     */
    public long totalBlocks() {
        synchronized (lock) {
            return totalBlocks;
        }
    }

    /**
     * Pages allocated.
     *
     * @return the count
     */
    public int pageCount() {
        synchronized (lock) {
            return pages.size();
        }
    }

    @Override
    public String toString() {
        return "pool " + name + " of " + device.name();
    }
}
