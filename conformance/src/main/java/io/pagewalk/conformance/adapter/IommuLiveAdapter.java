package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.Map;
import java.util.TreeMap;

/** {@code iommu_live}: many mappings alive at once, opened and closed in random order. */
final class IommuLiveAdapter implements Adapter {
    private final RecordedMachine recorded;
    private final Device device;
    private final Dma dma;
    private final DomainDump dump;
    private final Map<Integer, Runnable> unmaps = new TreeMap<>();

    private IommuLiveAdapter(Question boot) {
        recorded = RecordedMachine.boot(boot);
        device = recorded.device();
        dma = recorded.dma();
        dump = DomainDump.of(recorded);
    }

    static Family family() {
        return Family.named("iommu_live")
                .answered(Family.BOOT, BootFormat.device())
                .answered(
                        "map_page",
                        line("h", "mask", "phys", "size", "dir").exact("dma").build())
                .answered(
                        "map_sg",
                        line("h", "mask", "seg_boundary", "max_seg", "dir", "in")
                                .exact("ret", "out")
                                .build())
                .answered("unmap", line("h").build())
                .answered("tables", line().exact("live", "ptes").build())
                .by(IommuLiveAdapter::new);
    }

    private static LineFormat.Builder line(String... inputs) {
        return LineFormat.builder().identity("fam", "id", "op").input(inputs);
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        return switch (kind) {
            case "map_page" -> mapPage(question);
            case "map_sg" -> mapSg(question);
            case "unmap" -> unmap(question);
            case "tables" -> tables();
            default -> throw new BadVectorException("unknown op " + kind);
        };
    }

    private Answers mapPage(Question question) {
        device.storeStreamingMask(question.number("mask"));
        long size = question.number("size");
        DmaDirection direction = RecordedMachine.direction(question.integer("dir"));
        long dmaAddr = dma.mapPage(question.number("phys"), size, direction, DmaAttrs.NONE);
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            return new Answers().none("dma");
        }
        unmaps.put(question.integer("h"), () -> dma.unmapPage(dmaAddr, size, direction, DmaAttrs.NONE));
        return new Answers().unsigned("dma", dmaAddr);
    }

    private Answers mapSg(Question question) {
        device.storeStreamingMask(question.number("mask"));
        device.setSegmentBoundaryMask(question.number("seg_boundary"));
        device.setMaxSegmentBytes(question.number("max_seg"));
        SgTable list = Lists.of(question);
        DmaDirection direction = RecordedMachine.direction(question.integer("dir"));
        int ret = dma.mapSg(list, list.origNents(), direction, DmaAttrs.NONE);
        if (ret != 0) {
            unmaps.put(question.integer("h"), () -> dma.unmapSg(list, list.origNents(), direction, DmaAttrs.NONE));
        }
        return new Answers().signed("ret", ret).rows("out", Lists.segments(list, ret));
    }

    private Answers unmap(Question question) {
        Runnable unmap = unmaps.remove(question.integer("h"));
        if (unmap == null) {
            throw new BadVectorException("handle " + question.integer("h") + " is not mapped");
        }
        unmap.run();
        return new Answers();
    }

    private Answers tables() {
        return new Answers()
                .list("live", unmaps.keySet().stream().mapToLong(h -> h).toArray())
                .rows("ptes", dump.all());
    }

    @Override
    public void close() {
        recorded.close();
    }
}
