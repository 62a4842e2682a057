package io.pagewalk.backends.swiotlb;

import static io.pagewalk.backends.swiotlb.SwiotlbLayout.MIN_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SET_SLOTS;
import static io.pagewalk.backends.swiotlb.SwiotlbLayout.SLOT_BYTES;

import io.pagewalk.backends.boot.KernelCommandLine;
import io.pagewalk.dma.FailurePoint;
import io.pagewalk.dma.KernelLog;
import io.pagewalk.dma.Machine;
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.PageAllocator;
import io.pagewalk.dma.memory.Zone;
import io.pagewalk.dma.spi.BackendOptions;
import org.jspecify.annotations.Nullable;

/**
 * How a machine gets its bounce pool when it boots: whether it needs one, how large, and where.
 *
 * <p>Implements dma-core:SWC-6 to SWC-8, SWD-1 for a boot.
 */
public final class SwiotlbBoot {
    /** The option that says where the pool is to lie, as a physical address. */
    public static final String POOL_BASE_OPTION = "swiotlb.poolBase";

    private static final long NO_BASE = -1L;
    private static final String SITE = "swiotlb_init";

    private final Machine machine;
    private final long poolBase;
    private final FailurePoint poolPoint;
    private final KernelLog log;
    private SwiotlbParameter parameter;
    private Runnable giveBack = () -> {};

    private SwiotlbBoot(Machine machine, BackendOptions options) {
        this.machine = machine;
        this.log = machine.log();
        this.parameter = SwiotlbParameter.of(KernelCommandLine.parse(machine.commandLine()), this::info);
        this.poolBase = options.number(POOL_BASE_OPTION, NO_BASE);
        this.poolPoint = machine.failures().point("swiotlb.pool");
    }

    private void info(String text) {
        log.info("swiotlb", text);
    }

    /**
     * Boots a machine's bounce pool as on a PC: there is one when memory reaches above 4 GiB, when the command line
     * forces it, or when the caller does; none when the command line says {@code noforce}, which wins.
     *
     * @param machine the machine, whose memory it takes
     * @param options {@value #POOL_BASE_OPTION} puts the pool there instead of as high below 4 GiB as it fits
     * @param force whether the caller has every mapping bounced
     * @return the machine's swiotlb, with a pool or without
     * @throws IllegalArgumentException when the place that the options name is not RAM, or is in use in part
     */
    public static Swiotlb boot(Machine machine, BackendOptions options, boolean force) {
        return new SwiotlbBoot(machine, options).boot(force);
    }

    private Swiotlb boot(boolean forcedByCaller) {
        boolean forced = parameter.force() || forcedByCaller;
        if (parameter.disabled() || !(forced || isAddressingLimited())) {
            return swiotlb(null, false);
        }
        IoTlbPool pool = allocate();
        return swiotlb(pool, forced);
    }

    /** A pool may grow below 4 GiB (SWD-1). */
    private Swiotlb swiotlb(@Nullable IoTlbPool pool, boolean forced) {
        SwiotlbDefaults defaults = new SwiotlbDefaults(parameter);
        SwiotlbPool mem = SwiotlbPool.ofMachine(machine, pool, forced, defaults);
        DynamicPools dynamic = mem.dynamic();
        if (dynamic != null && pool != null) {
            dynamic.growBelow(Zone.DMA32.lastAddress());
        }
        return new Swiotlb(machine, mem, defaults, giveBack);
    }

    private boolean isAddressingLimited() {
        return Addresses.lessThan(Zone.DMA32.lastAddress(), machine.ram().top());
    }

    private @Nullable IoTlbPool allocate() {
        if (parameter.areas() == 0) {
            parameter = parameter.withAreas(machine.cpus(), this::info);
        }
        long wanted = parameter.slots();
        long slots = wanted;
        long base = place(slots);
        while (base == PageAllocator.NO_PAGE) {
            if (Addresses.lessOrEqual(slots, MIN_SLOTS)) {
                log.message(SITE, "no room for a pool of " + slots + " slots below 4 GiB (dma-core:SWC-8)");
                return null;
            }
            slots = Addresses.alignUp(slots >>> 1, SET_SLOTS);
            base = place(slots);
        }
        if (slots != wanted) {
            parameter = parameter.shrunk(slots);
            log.message(
                    SITE,
                    "bounce pool adjusted from " + Long.toUnsignedString(wanted) + " to " + slots
                            + " slots (dma-core:SWC-8)");
        }
        return new IoTlbPool(base, Math.toIntExact(slots), (int) limitAreas(parameter.areas(), slots));
    }

    /** {@code limit_nareas} (SWC-7). */
    static long limitAreas(long areas, long slots) {
        return Addresses.lessThan(slots, areas * SET_SLOTS) ? slots / SET_SLOTS : areas;
    }

    private long place(long slots) {
        long sizeBytes = slots * SLOT_BYTES;
        if (poolPoint.fails() || isTooLarge(slots)) {
            return PageAllocator.NO_PAGE;
        }
        if (poolBase == NO_BASE) {
            long base = machine.pages().allocContiguous(sizeBytes, Addresses.PAGE_SIZE, Zone.DMA32.lastAddress());
            giveBack = () -> machine.pages().giveBack(base, sizeBytes);
            return base;
        }
        machine.ram().require(poolBase, sizeBytes);
        reserve(sizeBytes);
        return poolBase;
    }

    /** 4 GiB hold no more. */
    private static boolean isTooLarge(long slots) {
        return Addresses.lessThan((Zone.DMA32.lastAddress() + 1) / SLOT_BYTES, slots);
    }

    /** Keeps the page allocator off the pool, if the place is one that it hands out. */
    private void reserve(long sizeBytes) {
        if (machine.pages().hasFreePagesWithin(poolBase, sizeBytes)) {
            try {
                machine.pages().reserve(poolBase, sizeBytes);
                giveBack = () -> machine.pages().giveBack(poolBase, sizeBytes);
            } catch (IllegalStateException partlyInUse) {
                throw new IllegalArgumentException(POOL_BASE_OPTION + ": " + partlyInUse.getMessage(), partlyInUse);
            }
        }
    }
}
