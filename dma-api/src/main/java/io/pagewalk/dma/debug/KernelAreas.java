package io.pagewalk.dma.debug;

import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.KernelLayout;
import io.pagewalk.dma.memory.RamMap;
import io.pagewalk.dma.memory.VirtRange;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * What the kernel's virtual addresses mean to dma-debug: which are linear, which are text, and whose stack a CPU is on.
 *
 * <p>Implements what dma-core:DBG-10, DBG-14, DBG-16 and DBG-17 ask. Thread-safe.
 */
public final class KernelAreas {
    /** What stands for "not on the stack". */
    static final long NOT_THERE = 0;

    private final KernelLayout layout;
    private final RamMap ram;
    private final List<VirtRange> image;
    private final AtomicReferenceArray<@Nullable KernelStack> stacks;

    /**
     * Describes a kernel.
     *
     * @param layout its virtual layout
     * @param ram which physical addresses are RAM
     * @param image text and read-only data, whose addresses mappings are compared with by the direct map; x86-64 has
     *     its image elsewhere
     * @param cpus how many CPUs there are
     */
    public KernelAreas(KernelLayout layout, RamMap ram, List<VirtRange> image, int cpus) {
        this.layout = layout;
        this.ram = ram;
        this.image = List.copyOf(image);
        this.stacks = new AtomicReferenceArray<>(cpus);
    }

    /**
     * Says which stack a CPU is on from now on.
     *
     * @param cpu from 0
     * @param stack the stack of its task, or null for none that is known
     * @throws IllegalArgumentException when there is no such CPU
     */
    public void runOn(int cpu, @Nullable KernelStack stack) {
        if (cpu < 0 || cpu >= stacks.length()) {
            throw new IllegalArgumentException("CPU " + cpu + " of a machine with " + stacks.length());
        }
        stacks.set(cpu, stack);
    }

    @Nullable KernelStack stackOf(int cpu) {
        return cpu < 0 || cpu >= stacks.length() ? null : stacks.get(cpu);
    }

    boolean isVmalloc(long virtAddr) {
        return layout.isVmalloc(virtAddr);
    }

    /** {@code virt_addr_valid}: in the direct map, with RAM behind it. */
    boolean isLinear(long virtAddr) {
        return layout.isDirectMap(virtAddr) && ram.contains(layout.virtToPhys(virtAddr), 1);
    }

    boolean isImage(long physAddr, long sizeBytes) {
        long first = linearAddr(physAddr);
        long end = first + sizeBytes;
        for (VirtRange range : image) {
            if (Addresses.lessOrEqual(first, range.last()) && Addresses.lessThan(range.first(), end)) {
                return true;
            }
        }
        return false;
    }

    long linearAddr(long physAddr) {
        return layout.physToVirt(physAddr);
    }

    /** Where on the stack a physical address is; only the first byte of a buffer is looked at. */
    long onStack(KernelStack stack, long physAddr) {
        if (!stack.isVmapped()) {
            long virtAddr = linearAddr(physAddr);
            return Addresses.lessThan(virtAddr - stack.virtAddr(), stack.sizeBytes()) ? virtAddr : NOT_THERE;
        }
        int page = stack.pagePhysAddrs().indexOf(physAddr & Addresses.PAGE_MASK);
        return page < 0 ? NOT_THERE : stack.virtAddr() + page * Addresses.PAGE_SIZE + (physAddr & ~Addresses.PAGE_MASK);
    }
}
