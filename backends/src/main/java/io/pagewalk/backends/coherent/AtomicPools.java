package io.pagewalk.backends.coherent;

import io.pagewalk.backends.boot.CInteger;
import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.backends.swiotlb.DecryptedMemory;
import io.pagewalk.dma.ArchConfig;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.Gfp;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The pools from which callers that must not wait get coherent memory that would have to be remapped or decrypted: one
 * of any memory, one of zone DMA, one of zone DMA32. Work in the background, on the machine's clock, lets a pool grow
 * when too little of it is free.
 *
 * <p>Implements dma-core:ATM-1 to ATM-5. Thread-safe.
 */
public final class AtomicPools implements DecryptedMemory {
    private static final long SMALLEST_BYTES = 128L << 10;
    private static final long LARGEST_PAGES = 1024;
    private static final int RAM_SHIFT = 13;
    private static final int NO_DELAY = 0;

    private final Machine machine;
    private final FailurePoint point;
    private final KernelTimer growth;
    private final long baseBytes;
    private final List<AtomicPool> pools = new ArrayList<>();
    private final @Nullable AtomicPool dmaPool;
    private final @Nullable AtomicPool dma32Pool;
    private final AtomicPool kernelPool;

    private AtomicPools(Machine machine) {
        this.machine = machine;
        this.point = machine.failures().point("direct.atomicPool");
        this.growth = machine.clock().timer(cpu -> grow());
        this.baseBytes = baseBytes(machine);
        this.kernelPool = pool(0);
        boolean hasDma = machine.kernelConfig().arch().zones().has(Zone.DMA)
                && machine.pages().freeBytes(Zone.DMA) != 0;
        this.dmaPool = hasDma ? pool(Gfp.DMA) : null;
        this.dma32Pool = machine.kernelConfig().arch().zones().has(Zone.DMA32) ? pool(Gfp.DMA32) : null;
    }

    /**
     * Makes the pools of a machine.
     *
     * @param machine the machine
     * @return null for a kernel that never remaps or decrypts
     */
    public static @Nullable AtomicPools of(Machine machine) {
        ArchConfig arch = machine.kernelConfig().arch();
        return arch.remap() || arch.forcedDecryption() ? new AtomicPools(machine) : null;
    }

    /** {@code coherent_pool=}, else 128 KiB for each GiB of RAM within bounds (ATM-1). */
    static long baseBytes(Machine machine) {
        String text = KernelCommandLine.parse(machine.commandLine()).value("coherent_pool");
        long asked = text == null ? 0 : new CInteger(text).nextSize();
        if (asked != 0) {
            return asked;
        }
        long pages = Math.min(machine.ram().sizeBytes() >>> Addresses.PAGE_SHIFT >>> RAM_SHIFT, LARGEST_PAGES);
        return Math.max(pages << Addresses.PAGE_SHIFT, SMALLEST_BYTES);
    }

    private AtomicPool pool(int zoneFlag) {
        AtomicPool pool = new AtomicPool(zoneFlag);
        expand(pool, baseBytes);
        pools.add(pool);
        machine.log()
                .info(
                        "dma_atomic_pool_init",
                        "preallocated " + (pool.sizeBytes() >>> 10) + " KiB " + Gfp.zone(zoneFlag)
                                + " pool for atomic allocations (dma-core:ATM-1)");
        return pool;
    }

    /** Adds the largest block up to a size that there is. */
    private void expand(AtomicPool pool, long sizeBytes) {
        for (int order = Math.min(Addresses.order(sizeBytes), PageAllocator.MAX_ORDER); order >= 0; order--) {
            long physAddr = point.fails()
                    ? PageAllocator.NO_PAGE
                    : machine.pages().allocPages(Gfp.zone(pool.zoneFlag()), order);
            if (physAddr != PageAllocator.NO_PAGE) {
                pool.addChunk(physAddr, order);
                return;
            }
        }
    }

    private void grow() {
        for (AtomicPool pool : pools) {
            if (Addresses.lessThan(pool.freeBytes(), baseBytes)) {
                expand(pool, pool.sizeBytes());
            }
        }
    }

    /**
     * Takes zeroed memory that a device reaches from the pool that its flags ask for, or from the next ones (ATM-3,
     * ATM-4).
     *
     * @param device the device
     * @param cpu the CPU that allocates
     * @param roundedBytes whole pages
     * @param gfp bits of {@link Gfp}
     * @param reach what the device reaches
     * @return the physical address, or {@link PageAllocator#NO_PAGE}, after a WARN unless the flags forbid it
     */
    public long alloc(Device device, int cpu, long roundedBytes, int gfp, PhysReach reach) {
        for (AtomicPool pool = first(gfp); pool != null; pool = next(pool)) {
            long physAddr = pool.alloc(roundedBytes);
            if (physAddr != PageAllocator.NO_PAGE) {
                if (reach.reaches(device, physAddr, roundedBytes)) {
                    return taken(pool, cpu, physAddr, roundedBytes);
                }
                pool.free(physAddr, roundedBytes);
            }
        }
        if (!Gfp.has(gfp, Gfp.NOWARN)) {
            machine.log()
                    .warn(
                            "dma_alloc_from_pool",
                            device.name() + ": no atomic pool has " + Addresses.hex(roundedBytes)
                                    + " bytes in reach (dma-core:ATM-4)");
        }
        return PageAllocator.NO_PAGE;
    }

    @Override
    public long allocBelow(Device device, int cpu, long roundedBytes, int gfp, long lastAddr) {
        return alloc(
                device,
                cpu,
                roundedBytes,
                gfp,
                (d, physAddr, sizeBytes) -> Addresses.lessOrEqual(Addresses.last(physAddr, sizeBytes), lastAddr));
    }

    private long taken(AtomicPool pool, int cpu, long physAddr, long roundedBytes) {
        machine.cpuMemory().zero(physAddr, roundedBytes);
        if (Addresses.lessThan(pool.freeBytes(), baseBytes)) {
            growth.arm(NO_DELAY, cpu);
        }
        return physAddr;
    }

    private @Nullable AtomicPool first(int gfp) {
        if (Gfp.has(gfp, Gfp.DMA32)) {
            return dma32Pool;
        }
        return Gfp.has(gfp, Gfp.DMA) && dmaPool != null ? dmaPool : kernelPool;
    }

    private @Nullable AtomicPool next(AtomicPool pool) {
        if (pool == kernelPool) {
            return dma32Pool != null ? dma32Pool : dmaPool;
        }
        return pool == dma32Pool ? dmaPool : null;
    }

    /**
     * Gives memory back (ATM-5).
     *
     * @param physAddr its first page
     * @param roundedBytes whole pages
     * @return false when it is no pool's
     */
    @Override
    public boolean free(long physAddr, long roundedBytes) {
        for (AtomicPool pool : pools) {
            if (pool.free(physAddr, roundedBytes)) {
                return true;
            }
        }
        return false;
    }

    /** Bytes of a zone's pool, for tests: 0 when there is none. */
    long sizeBytes(int zoneFlag) {
        return pools.stream()
                .filter(pool -> pool.zoneFlag() == zoneFlag)
                .mapToLong(AtomicPool::sizeBytes)
                .sum();
    }

    /**
     * Checks that nothing is taken.
     *
     * @param violation takes a sentence for each pool of which something is
     */
    public void checkIdle(Consumer<String> violation) {
        for (AtomicPool pool : pools) {
            long used = pool.sizeBytes() - pool.freeBytes();
            if (used != 0) {
                violation.accept(
                        "the atomic pool of zone " + Gfp.zone(pool.zoneFlag()) + " has " + used + " bytes in use");
            }
        }
    }
}
