package io.pagewalk.trace.workload;

import io.pagewalk.trace.TraceEvent;
import io.pagewalk.trace.TraceReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Lines of a trace as tracefs writes them, and what an assembler makes of them. */
public final class TraceText {
    private final StringBuilder text = new StringBuilder();
    private String task = "fio-326";
    private int cpu;
    private String flags = ".....";
    private long micros = 4_000_000;

    /** Makes a trace of no lines. */
    public TraceText() {}

    /** Makes the lines that follow come from a task on a CPU. */
    public TraceText on(String newTask, int newCpu) {
        task = newTask;
        cpu = newCpu;
        return this;
    }

    /** Makes the lines that follow have these context flags; none makes them lines of trace-cmd. */
    public TraceText flags(String newFlags) {
        flags = newFlags;
        return this;
    }

    /** Moves the time. */
    public TraceText after(long moreMicros) {
        micros += moreMicros;
        return this;
    }

    /** Adds a line that is no event. */
    public TraceText raw(String line) {
        text.append(line).append('\n');
        return this;
    }

    /** Adds an event. */
    public TraceText event(String body) {
        micros++;
        String column = flags.isEmpty() ? "" : flags + " ";
        return raw(String.format(
                "%24s [%03d] %s%d.%06d: %s", task, cpu, column, micros / 1_000_000, micros % 1_000_000, body));
    }

    public TraceText mapPage(String device, String direction, long dmaAddr, long sizeBytes, long physAddr) {
        return event(String.format(
                "dma_map_page: %s dir=%s dma_addr=%x size=%d phys_addr=%x attrs=",
                device, direction, dmaAddr, sizeBytes, physAddr));
    }

    public TraceText unmapPage(String device, String direction, long dmaAddr, long sizeBytes) {
        return event(String.format(
                "dma_unmap_page: %s dir=%s dma_addr=%x size=%d attrs=", device, direction, dmaAddr, sizeBytes));
    }

    public TraceText mapSg(String device, String direction, long[] dmaAddrs, long[] sizes, long[] physAddrs) {
        return event(String.format(
                "dma_map_sg: %s dir=%s nents=%d/%d ents=%d/%d dma_addrs=%s sizes=%s phys_addrs=%s attrs=",
                device,
                direction,
                physAddrs.length,
                physAddrs.length,
                dmaAddrs.length,
                dmaAddrs.length,
                list(dmaAddrs),
                list(sizes),
                list(physAddrs)));
    }

    public TraceText unmapSg(String device, String direction, long... physAddrs) {
        return event(String.format("dma_unmap_sg: %s dir=%s phys_addrs=%s attrs=", device, direction, list(physAddrs)));
    }

    public TraceText sync(String which, String device, String direction, long dmaAddr, long sizeBytes) {
        return event(String.format(
                "dma_sync_single_for_%s: %s dir=%s dma_addr=%x size=%d", which, device, direction, dmaAddr, sizeBytes));
    }

    public TraceText bounced(String device, long mask, long devAddr, long sizeBytes) {
        return event(String.format(
                "swiotlb_bounced: dev_name: %s dma_mask=%x dev_addr=%x size=%d FORCE",
                device, mask, devAddr, sizeBytes));
    }

    public TraceText iommuMap(long iova, long physAddr, long sizeBytes) {
        return event(String.format(
                "map: IOMMU: iova=0x%016x - 0x%016x paddr=0x%016x size=%d",
                iova, iova + sizeBytes, physAddr, sizeBytes));
    }

    public TraceText alloc(String device, long dmaAddr, long sizeBytes) {
        return event(String.format(
                "dma_alloc: %s dir=BIDIRECTIONAL dma_addr=%x size=%d virt_addr=000000006a508419 flags=GFP_KERNEL attrs=",
                device, dmaAddr, sizeBytes));
    }

    public TraceText free(String device, long dmaAddr, long sizeBytes) {
        return event(String.format(
                "dma_free: %s dir=BIDIRECTIONAL dma_addr=%x size=%d virt_addr=000000006a508419 attrs=",
                device, dmaAddr, sizeBytes));
    }

    private static String list(long[] values) {
        StringBuilder all = new StringBuilder("{");
        for (int i = 0; i < values.length; i++) {
            all.append(i == 0 ? "0x" : ",0x").append(Long.toHexString(values[i]));
        }
        return all.append('}').toString();
    }

    @Override
    public String toString() {
        return text.toString();
    }

    /** Opens the lines as a trace. */
    public TraceReader open() {
        try {
            return TraceReader.open(new ByteArrayInputStream(text.toString().getBytes(StandardCharsets.UTF_8)), "text");
        } catch (IOException impossible) {
            throw new AssertionError(impossible);
        }
    }

    /** What an assembler makes of the lines. */
    Assembled assemble() {
        return Assembled.of(open());
    }

    /** Operations and counts. */
    record Assembled(List<Operation> operations, AnomalyCounts anomalies, WorkloadAssembler assembler) {
        static Assembled of(TraceReader trace) {
            List<Operation> operations = new ArrayList<>();
            AnomalyCounts anomalies = new AnomalyCounts();
            WorkloadAssembler assembler = new WorkloadAssembler(operations::add, anomalies);
            try (TraceReader reader = trace) {
                for (TraceEvent event = reader.next(); event != null; event = reader.next()) {
                    assembler.accept(event);
                }
                if (reader.summary().badLineCount() != 0) {
                    throw new AssertionError(reader.summary().firstBadLines().toString());
                }
            } catch (IOException unreadable) {
                throw new AssertionError(unreadable);
            }
            assembler.finish();
            return new Assembled(operations, anomalies, assembler);
        }

        <T extends Operation> List<T> all(Class<T> kind) {
            return operations.stream().filter(kind::isInstance).map(kind::cast).toList();
        }

        List<Operation.Map> maps() {
            return all(Operation.Map.class);
        }

        List<Operation.Unmap> unmaps() {
            return all(Operation.Unmap.class);
        }
    }
}
