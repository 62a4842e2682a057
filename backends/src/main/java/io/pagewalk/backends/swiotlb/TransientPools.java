package io.pagewalk.backends.swiotlb;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.KernelTimer;
import io.pagewalk.dma.Machine;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The pools of an allocator that serve one mapping each: those of every device, {@code dma_io_tlb_pools}, and those
 * whose mapping is gone and whose memory waits for the end of a grace period.
 *
 * <p>Implements dma-core:SWD-6, SWD-8. Thread-safe.
 *
 * <p>Differs from Linux: a grace period is of one length on the machine's clock, {@link #GRACE_NANOS}.
 */
final class TransientPools {
    /** From the unmap until the memory is free: 10 ms. */
    static final long GRACE_NANOS = 10_000_000L;

    private static final IoTlbPool[] NONE = {};

    /** A pool without a mapping, and when its memory may go. */
    private record Retired(IoTlbPool pool, long freeAtNanos) {}

    private final Machine machine;
    private final PoolMemory memory;
    private final KernelTimer grace;
    private final Map<Device, IoTlbPool[]> byDevice = new ConcurrentHashMap<>();
    private final ArrayDeque<Retired> retired = new ArrayDeque<>();
    private final AtomicLong slots = new AtomicLong();
    private final AtomicLong bouncedBefore = new AtomicLong();

    TransientPools(Machine machine, PoolMemory memory, String timerName) {
        this.machine = machine;
        this.memory = memory;
        this.grace = machine.clock().timer(timerName, this::graceIsOver);
    }

    void add(Device device, IoTlbPool pool) {
        slots.addAndGet(pool.slots());
        byDevice.merge(device, new IoTlbPool[] {pool}, TransientPools::joined);
    }

    private static IoTlbPool[] joined(IoTlbPool[] present, IoTlbPool[] added) {
        IoTlbPool[] all = Arrays.copyOf(added, added.length + present.length);
        System.arraycopy(present, 0, all, added.length, present.length);
        return all;
    }

    /** Finds the pool of a device that an address lies in; those of other devices do not count (SWC-24). */
    @Nullable IoTlbPool find(Device device, long physAddr) {
        if (slots.get() == 0) {
            return null;
        }
        for (IoTlbPool pool : byDevice.getOrDefault(device, NONE)) {
            if (pool.contains(physAddr)) {
                return pool;
            }
        }
        return null;
    }

    /** Takes a pool off its device's list; who looked it up before may go on until the grace period ends (SWD-8). */
    void retire(Device device, int cpu, IoTlbPool pool) {
        byDevice.computeIfPresent(device, (d, pools) -> without(pools, pool));
        pool.usage().subtract(pool.slots());
        slots.addAndGet(-pool.slots());
        bouncedBefore.addAndGet(pool.table().bouncedBytes());
        synchronized (retired) {
            retired.add(new Retired(pool, machine.clock().nowNanos() + GRACE_NANOS));
            grace.arm(GRACE_NANOS, cpu);
        }
    }

    private static IoTlbPool @Nullable [] without(IoTlbPool[] pools, IoTlbPool gone) {
        IoTlbPool[] rest = Arrays.stream(pools).filter(pool -> pool != gone).toArray(IoTlbPool[]::new);
        return rest.length == 0 ? null : rest;
    }

    private void graceIsOver(int cpu) {
        long now = machine.clock().nowNanos();
        List<IoTlbPool> free = new ArrayList<>();
        synchronized (retired) {
            while (!retired.isEmpty() && retired.getFirst().freeAtNanos() <= now) {
                free.add(retired.removeFirst().pool());
            }
            if (!retired.isEmpty()) {
                grace.arm(retired.getFirst().freeAtNanos() - now, cpu);
            }
        }
        free.forEach(memory::free);
    }

    /** Ends the grace period now, since nobody is in a call. */
    void quiesce() {
        List<IoTlbPool> free = new ArrayList<>();
        synchronized (retired) {
            grace.cancel();
            retired.forEach(one -> free.add(one.pool()));
            retired.clear();
        }
        free.forEach(memory::free);
    }

    /** {@code transient_nslabs}. */
    long slots() {
        return slots.get();
    }

    /** How many bytes were ever copied. */
    long bouncedBytes() {
        return bouncedBefore.get() + IoTlbPool.bouncedBytes(all().toArray(new IoTlbPool[0]));
    }

    /** Those that have a mapping. */
    List<IoTlbPool> all() {
        return byDevice.values().stream().flatMap(Arrays::stream).toList();
    }

    /** How many have none and still have memory. */
    int retiredCount() {
        synchronized (retired) {
            return retired.size();
        }
    }
}
