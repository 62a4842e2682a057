package io.pagewalk.trace.predict;

import java.util.Locale;

/** Writes the lines of a trace, one millisecond after the other. */
final class Lines {
    static final String NVME = "0000:00:04.0";
    static final String NIC = "0000:00:07.0";

    private final StringBuilder text = new StringBuilder("#\n");
    private String task = "fio-7";
    private int cpu;
    private String flags = ".....";
    private long micros = 1_000_000;
    private int count = 1;

    /** Lines of a task itself. */
    Lines by(String newTask, int newCpu) {
        task = newTask;
        cpu = newCpu;
        flags = ".....";
        return this;
    }

    /** Lines of a hardware interrupt over the task. */
    Lines hardirq() {
        flags = "d.h1.";
        return this;
    }

    /** Lines of a software interrupt over the task. */
    Lines softirq() {
        flags = "..s1.";
        return this;
    }

    /** Lines of the task itself again. */
    Lines back() {
        flags = ".....";
        return this;
    }

    Lines after(long microseconds) {
        micros += microseconds;
        return this;
    }

    /** The number of the line written last. */
    int number() {
        return count;
    }

    Lines line(String event) {
        micros += 1000;
        count++;
        text.append(String.format(
                Locale.ROOT,
                "%24s [%03d] %s %5d.%06d: %s%n",
                task,
                cpu,
                flags,
                micros / 1_000_000,
                micros % 1_000_000,
                event));
        return this;
    }

    Lines bounced(String device, long physAddr, long sizeBytes) {
        return line(String.format(
                "swiotlb_bounced: dev_name: %s dma_mask=ffffffffffffffff dev_addr=%x size=%d FORCE",
                device, physAddr, sizeBytes));
    }

    Lines mapPage(String device, long dmaAddr, long physAddr, long sizeBytes) {
        return line(String.format(
                "dma_map_page: %s dir=TO_DEVICE dma_addr=%x size=%d phys_addr=%x attrs=",
                device, dmaAddr, sizeBytes, physAddr));
    }

    Lines unmapPage(String device, long dmaAddr, long sizeBytes) {
        return line(String.format(
                "dma_unmap_page: %s dir=TO_DEVICE dma_addr=%x size=%d attrs=", device, dmaAddr, sizeBytes));
    }

    Lines mapSg(String device, long[] dmaAddrs, long[] sizes, long[] physAddrs) {
        return line(String.format(
                "dma_map_sg: %s dir=TO_DEVICE nents=%d/%d ents=%d/%d dma_addrs={%s} sizes={%s} phys_addrs={%s} attrs=",
                device,
                physAddrs.length,
                physAddrs.length,
                dmaAddrs.length,
                dmaAddrs.length,
                list(dmaAddrs),
                list(sizes),
                list(physAddrs)));
    }

    Lines unmapSg(String device, long... physAddrs) {
        return line(String.format("dma_unmap_sg: %s dir=TO_DEVICE phys_addrs={%s} attrs=", device, list(physAddrs)));
    }

    Lines alloc(String device, long dmaAddr, long sizeBytes) {
        return line(String.format(
                "dma_alloc: %s dir=BIDIRECTIONAL dma_addr=%x size=%d virt_addr=00000000ab71d3f3 flags=GFP_KERNEL attrs=",
                device, dmaAddr, sizeBytes));
    }

    Lines free(String device, long dmaAddr, long sizeBytes) {
        return line(String.format(
                "dma_free: %s dir=BIDIRECTIONAL dma_addr=%x size=%d virt_addr=00000000ab71d3f3 attrs=",
                device, dmaAddr, sizeBytes));
    }

    Lines map(long iova, long physAddr, long sizeBytes) {
        return line(String.format(
                "map: IOMMU: iova=0x%016x - 0x%016x paddr=0x%016x size=%d",
                iova, iova + sizeBytes, physAddr, sizeBytes));
    }

    Lines unmap(long iova, long sizeBytes) {
        return line(String.format(
                "unmap: IOMMU: iova=0x%016x - 0x%016x size=%d unmapped_size=%d",
                iova, iova + sizeBytes, sizeBytes, sizeBytes));
    }

    private static String list(long[] values) {
        StringBuilder list = new StringBuilder();
        for (long value : values) {
            list.append(list.length() == 0 ? "0x" : ",0x").append(Long.toHexString(value));
        }
        return list.toString();
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
