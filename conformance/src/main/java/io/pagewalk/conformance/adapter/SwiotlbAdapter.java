package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.conformance.format.Rule;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.CpuMemory;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** {@code swiotlb}: everything bounced, on buffers above 4 GiB; state carries over from line to line. */
final class SwiotlbAdapter implements Adapter {
    /* The module filled buffers to see which way bytes went: 0x11 and 0x33 into the original, 0x22 into the bounce as a device
     * would. What is in the bounce at unmap is what was last put there: by the map, a sync, or the device.
     */
    private static final int ORIGINAL_FILL = 0x11;
    private static final int DEVICE_FILL = 0x22;
    private static final int CPU_FILL = 0x33;
    private static final int OTHER_FILL = 0x44;

    private final RecordedMachine recorded;
    private final Device device;
    private final Dma dma;
    private final CpuMemory memory;
    private final Map<Integer, Live> live = new HashMap<>();

    private SwiotlbAdapter(Question boot) {
        recorded = RecordedMachine.boot(boot);
        device = recorded.device();
        dma = recorded.dma();
        memory = recorded.machine().cpuMemory();
    }

    /** A mapping that is alive: how it was made, and whether a sync has touched the bounce since. */
    private static final class Live {
        private final long dmaAddr;
        private final long minAlign;
        private final Buffer original;
        private boolean synced;

        Live(long dmaAddr, long minAlign, Buffer original) {
            this.dmaAddr = dmaAddr;
            this.minAlign = minAlign;
            this.original = original;
        }
    }

    static Family family() {
        return Family.named("swiotlb")
                .answered(Family.BOOT, BootFormat.device())
                .answered("map", mapFormat())
                .answered("unmap", unmapFormat())
                .answered("sync_for_cpu", syncFormat().exact("orig_changed").build())
                .answered(
                        "sync_for_device", syncFormat().exact("bounce_changed").build())
                .by(SwiotlbAdapter::new);
    }

    private static LineFormat mapFormat() {
        return LineFormat.builder()
                .identity("fam", "id", "op")
                .input("h", "phys", "size", "dir", "attrs", "min_align", "seg_boundary", "mask")
                .exact("ret", "max_mapping", "need_sync", "copied_in", "used", "hiwater")
                .rule("klog", Rule.LOG)
                .build();
    }

    private static LineFormat unmapFormat() {
        return LineFormat.builder()
                .identity("fam", "id", "op")
                .input("h", "size", "dir", "attrs", "dev_wrote")
                .rule("orig_changed", Rule.CHANGED_BYTES)
                .exact("used", "hiwater")
                .build();
    }

    private static LineFormat.Builder syncFormat() {
        return LineFormat.builder().identity("fam", "id", "op").input("h", "size", "map_dir", "dir", "off", "len");
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        return switch (kind) {
            case "map" -> map(question);
            case "unmap" -> unmap(question);
            case "sync_for_cpu" -> syncForCpu(question);
            case "sync_for_device" -> syncForDevice(question);
            default -> throw new BadVectorException("unknown op " + kind);
        };
    }

    private Answers map(Question question) {
        long size = question.number("size");
        device.setMinAlignMask(question.number("min_align"));
        device.setSegmentBoundaryMask(question.number("seg_boundary"));
        device.storeStreamingMask(question.number("mask"));
        Buffer original = new Buffer(memory, question.number("phys"), size);
        original.fillWithPeriod();
        long dmaAddr = dma.mapPage(
                question.number("phys"),
                size,
                RecordedMachine.direction(question.integer("dir")),
                question.integer("attrs"));
        Answers answers = new Answers().log("klog", recorded.log().latest());
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            return used(answers.none("ret"));
        }
        live.put(question.integer("h"), new Live(dmaAddr, question.number("min_align"), original));
        return used(answers.unsigned("ret", dmaAddr - recorded.poolStart())
                .flag("copied_in", original.isSameAs(new Buffer(memory, dmaAddr, size)))
                .unsigned("max_mapping", dma.maxMappingSize())
                .bit("need_sync", dma.needSync(dmaAddr)));
    }

    private Answers used(Answers answers) {
        return answers.unsigned("used", recorded.usedSlots()).unsigned("hiwater", recorded.usedHiwater());
    }

    private Live mapping(Question question) {
        Live mapping = live.get(question.integer("h"));
        if (mapping == null) {
            throw new BadVectorException("handle " + question.integer("h") + " is not mapped");
        }
        device.setMinAlignMask(mapping.minAlign);
        return mapping;
    }

    private Answers unmap(Question question) {
        Live mapping = mapping(question);
        long size = question.number("size");
        boolean deviceWrote = question.flag("dev_wrote");
        DmaDirection direction = RecordedMachine.direction(question.integer("dir"));
        int attrs = question.integer("attrs");
        mapping.original.fill(ORIGINAL_FILL);
        if (deviceWrote) {
            deviceWrites(mapping.dmaAddr, size);
        }
        dma.unmapPage(mapping.dmaAddr, size, direction, attrs);
        live.remove(question.integer("h"));
        boolean copiesBack = direction.deviceWrites() && (attrs & DmaAttrs.SKIP_CPU_SYNC) == 0;
        long[] changed = mapping.original.having(DEVICE_FILL);
        Answers answers = used(new Answers());
        return copiesBack && !deviceWrote && !mapping.synced
                ? answers.object(
                        "orig_changed",
                        new Answers().signed("phase", DEVICE_FILL).list("changed", changed))
                : answers.list("orig_changed", changed);
    }

    private void deviceWrites(long dmaAddr, long sizeBytes) {
        byte[] bytes = new byte[Math.toIntExact(sizeBytes)];
        Arrays.fill(bytes, (byte) DEVICE_FILL);
        device.bus().write(dmaAddr, bytes, 0, bytes.length);
    }

    private Answers syncForCpu(Question question) {
        Live mapping = mapping(question);
        mapping.synced = true;
        mapping.original.fill(ORIGINAL_FILL);
        deviceWrites(mapping.dmaAddr, question.number("size"));
        dma.syncSingleForCpu(
                mapping.dmaAddr + question.number("off"),
                question.number("len"),
                RecordedMachine.direction(question.integer("dir")));
        return new Answers().list("orig_changed", mapping.original.having(DEVICE_FILL));
    }

    private Answers syncForDevice(Question question) {
        Live mapping = mapping(question);
        mapping.synced = true;
        Buffer bounce = new Buffer(memory, mapping.dmaAddr, question.number("size"));
        mapping.original.fill(CPU_FILL);
        bounce.fill(OTHER_FILL);
        dma.syncSingleForDevice(
                mapping.dmaAddr + question.number("off"),
                question.number("len"),
                RecordedMachine.direction(question.integer("dir")));
        return new Answers().list("bounce_changed", bounce.having(CPU_FILL));
    }

    @Override
    public void close() {
        recorded.close();
    }
}
