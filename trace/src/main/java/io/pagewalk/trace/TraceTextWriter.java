package io.pagewalk.trace;

import io.pagewalk.dma.Device;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.VirtualClock;
import io.pagewalk.dma.events.DmaListener;
import io.pagewalk.dma.scatterlist.SgTable;
import java.io.PrintWriter;
import java.util.function.IntFunction;

/**
 * A listener that writes what it hears as the text of the kernel's own trace events, as tracefs prints them:
 * {@code dma_map_page}, {@code dma_map_sg} and their like, and {@code swiotlb_bounced}. What it writes can be read back
 * by {@link TraceReader}, replayed by {@code pagewalk compare} and checked by {@code pagewalk check}.
 *
 * <p>The task is always {@code pagewalk-1}; time is the machine's. Flags of allocations, attributes of unmaps and
 * failed allocations are not told to listeners and are not in the text. Kernel addresses are printed as they are, not
 * hashed. Lists are cut to 128 entries as in the kernel.
 *
 * <p>Thread-safe: a line is written whole. The writer stays the caller's to flush and close.
 */
public final class TraceTextWriter implements DmaListener {
    private static final int MAX_ENTRIES = 128;

    private final VirtualClock clock;
    private final PrintWriter out;

    /**
     * Makes a writer; it prints the header that says which form the text has.
     *
     * @param clock the machine's time
     * @param out takes the text
     */
    public TraceTextWriter(VirtualClock clock, PrintWriter out) {
        this.clock = clock;
        this.out = out;
        out.println("# tracer: nop");
        out.println("#");
        out.println("#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION");
        out.println("#              | |         |   |||||     |         |");
    }

    private void line(int cpu, String event, String body) {
        long micros = clock.nowNanos() / 1000;
        String line = String.format(
                "        pagewalk-1       [%03d] ..... %5d.%06d: %s: %s",
                cpu, micros / 1_000_000, micros % 1_000_000, event, body);
        synchronized (out) {
            out.println(line);
        }
    }

    private static String who(Device device, DmaDirection direction) {
        return device.name() + " dir=" + direction.name();
    }

    private static String buffer(long dmaAddr, long sizeBytes) {
        return String.format(" dma_addr=%x size=%s", dmaAddr, Long.toUnsignedString(sizeBytes));
    }

    private static String attributes(int attrs) {
        return " attrs=" + FieldSyntax.attrText(attrs);
    }

    // ---- buffers

    @Override
    public void mappedPage(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        line(cpu, "dma_map_page", map(device, physAddr, sizeBytes, direction, attrs, dmaAddr));
    }

    @Override
    public void mappedResource(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        line(cpu, "dma_map_resource", map(device, physAddr, sizeBytes, direction, attrs, dmaAddr));
    }

    private static String map(
            Device device, long physAddr, long sizeBytes, DmaDirection direction, int attrs, long dmaAddr) {
        return who(device, direction)
                + buffer(dmaAddr, sizeBytes)
                + String.format(" phys_addr=%x", physAddr)
                + attributes(attrs);
    }

    @Override
    public void unmappingPage(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        line(cpu, "dma_unmap_page", who(device, direction) + buffer(dmaAddr, sizeBytes) + attributes(0));
    }

    @Override
    public void unmappingResource(Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction) {
        line(cpu, "dma_unmap_resource", who(device, direction) + buffer(dmaAddr, sizeBytes) + attributes(0));
    }

    @Override
    public void syncedSingle(
            Device device, int cpu, long dmaAddr, long sizeBytes, DmaDirection direction, boolean forCpu) {
        String event = forCpu ? "dma_sync_single_for_cpu" : "dma_sync_single_for_device";
        line(cpu, event, who(device, direction) + buffer(dmaAddr, sizeBytes));
    }

    @Override
    public void bounced(Device device, int cpu, long dmaMask, long dmaAddr, long sizeBytes, boolean force) {
        String body = String.format(
                "dev_name: %s dma_mask=%x dev_addr=%x size=%s %s",
                device.name(), dmaMask, dmaAddr, Long.toUnsignedString(sizeBytes), force ? "FORCE" : "NORMAL");
        line(cpu, "swiotlb_bounced", body);
    }

    // ---- lists

    @Override
    public void mappedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, int attrs, int result) {
        if (result <= 0) {
            line(
                    cpu,
                    "dma_map_sg_err",
                    who(device, direction) + " dma_addrs=" + physAddrs(sg, nents) + " err=" + result
                            + attributes(attrs));
            return;
        }
        boolean cut = nents > MAX_ENTRIES || result > MAX_ENTRIES;
        line(
                cpu,
                "dma_map_sg",
                who(device, direction) + " nents=" + Math.min(nents, MAX_ENTRIES) + "/" + nents + " ents="
                        + Math.min(result, MAX_ENTRIES) + "/" + result + (cut ? " [TRUNCATED]" : "") + " dma_addrs="
                        + array(result, i -> hex(sg.dmaAddr(i))) + " sizes="
                        + array(result, i -> hex(sg.dmaLengthBytes(i))) + " phys_addrs=" + physAddrs(sg, nents)
                        + attributes(attrs));
    }

    private static String physAddrs(SgTable sg, int nents) {
        return array(nents, i -> hex(sg.physAddr(i)));
    }

    @Override
    public void unmappingSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction) {
        line(cpu, "dma_unmap_sg", who(device, direction) + " phys_addrs=" + physAddrs(sg, nents) + attributes(0));
    }

    @Override
    public void syncedSg(Device device, int cpu, SgTable sg, int nents, DmaDirection direction, boolean forCpu) {
        String event = forCpu ? "dma_sync_sg_for_cpu" : "dma_sync_sg_for_device";
        line(
                cpu,
                event,
                who(device, direction) + " dma_addrs=" + array(nents, i -> hex(sg.dmaAddr(i))) + " sizes="
                        + array(nents, i -> hex(sg.dmaLengthBytes(i))));
    }

    private static String array(int count, IntFunction<String> element) {
        StringBuilder text = new StringBuilder("{");
        for (int i = 0; i < Math.min(count, MAX_ENTRIES); i++) {
            text.append(i == 0 ? "" : ",").append(element.apply(i));
        }
        return text.append('}').toString();
    }

    private static String hex(long value) {
        return "0x" + Long.toHexString(value);
    }

    // ---- memory

    @Override
    public void allocated(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes, int attrs) {
        String body = memory(device, DmaDirection.BIDIRECTIONAL, dmaAddr, sizeBytes, cpuAddr);
        line(cpu, "dma_alloc", body + " flags=none" + attributes(attrs));
    }

    @Override
    public void freeing(Device device, int cpu, long cpuAddr, long dmaAddr, long sizeBytes) {
        line(cpu, "dma_free", memory(device, DmaDirection.BIDIRECTIONAL, dmaAddr, sizeBytes, cpuAddr) + attributes(0));
    }

    @Override
    public void allocatedPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        String body = memory(device, direction, dmaAddr, sizeBytes, virtAddr(device, physAddr));
        line(cpu, "dma_alloc_pages", body + " flags=none" + attributes(0));
    }

    @Override
    public void freeingPages(
            Device device, int cpu, long physAddr, long sizeBytes, DmaDirection direction, long dmaAddr) {
        String body = memory(device, direction, dmaAddr, sizeBytes, virtAddr(device, physAddr));
        line(cpu, "dma_free_pages", body + attributes(0));
    }

    private static String memory(Device device, DmaDirection direction, long dmaAddr, long sizeBytes, long virtAddr) {
        return who(device, direction) + buffer(dmaAddr, sizeBytes) + String.format(" virt_addr=%016x", virtAddr);
    }

    private static long virtAddr(Device device, long physAddr) {
        return device.machine().layout().physToVirt(physAddr);
    }
}
