package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.conformance.format.Rule;
import io.pagewalk.dma.CoherentBuffer;
import io.pagewalk.dma.Device;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.List;

/** {@code direct}: dma-direct with and without a bounce pool; each mapping is undone at once, masks stay. */
final class DirectAdapter implements Adapter {
    private final Question bootLine;
    private final RecordedMachine recorded;
    private final MaskAnswers masks;
    private final Device device;
    private final Dma dma;

    private DirectAdapter(Question boot) {
        bootLine = boot;
        recorded = RecordedMachine.boot(boot);
        masks = new MaskAnswers(recorded);
        device = recorded.device();
        dma = recorded.dma();
    }

    static Family family() {
        return Family.named("direct")
                .answered(Family.BOOT, BootFormat.device())
                .answered("set_mask", MaskAnswers.setMaskFormat())
                .answered("set_mask_and_coherent", MaskAnswers.setMaskAndCoherentFormat())
                .answered("map_page", mapPageFormat())
                .answered("map_resource", mapResourceFormat())
                .answered("map_sg", mapSgFormat().build())
                .answered("map_sgtable", mapSgFormat().exact("nents").build())
                .answered("alloc_coherent", allocCoherentFormat())
                .by(DirectAdapter::new);
    }

    private static LineFormat mapPageFormat() {
        return line("mask", "bus_limit", "phys", "size", "dir", "attrs")
                .exact("dma", "bounced", "pool_off", "need_sync", "used")
                .rule("klog", Rule.LOG)
                .build();
    }

    private static LineFormat mapResourceFormat() {
        return line("mask", "bus_limit", "phys", "size")
                .exact("dma")
                .rule("klog", Rule.LOG)
                .build();
    }

    private static LineFormat.Builder mapSgFormat() {
        return line("mask", "bus_limit", "in").exact("ret", "out", "used").rule("klog", Rule.LOG);
    }

    private static LineFormat allocCoherentFormat() {
        return line("coherent_mask", "bus_limit", "size")
                .rule("dma", Rule.WITHIN_REACH)
                .exact("nonzero_bytes", "ptes")
                .build();
    }

    private static LineFormat.Builder line(String... inputs) {
        return LineFormat.builder().identity("fam", "id", "op").input(inputs);
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    /** Once-only WARNs were armed again before every operation. */
    @Override
    public Answers answer(String kind, Question question) {
        recorded.machine().log().rearmWarnings();
        return switch (kind) {
            case "set_mask" -> masks.setMask(question);
            case "set_mask_and_coherent" -> masks.setMaskAndCoherent(question);
            case "map_page" -> mapPage(question);
            case "map_resource" -> mapResource(question);
            case "map_sg" -> mapSg(question);
            case "map_sgtable" -> mapSgTable(question);
            case "alloc_coherent" -> allocCoherent(question);
            default -> throw new BadVectorException("unknown op " + kind);
        };
    }

    private void limit(Question question) {
        device.storeStreamingMask(question.number("mask"));
        device.setBusLimit(question.number("bus_limit"));
    }

    private Answers logAndUsed() {
        return new Answers().log("klog", recorded.log().latest()).unsigned("used", recorded.usedSlots());
    }

    private Answers mapPage(Question question) {
        limit(question);
        long size = question.number("size");
        DmaDirection direction = RecordedMachine.direction(question.integer("dir"));
        int attrs = question.integer("attrs");
        long dmaAddr = dma.mapPage(question.number("phys"), size, direction, attrs);
        Answers answers = logAndUsed();
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            return answers.none("dma");
        }
        answers.unsigned("dma", dmaAddr).bit("need_sync", dma.needSync(dmaAddr));
        if (recorded.isInPool(dmaAddr)) {
            answers.flag("bounced", true).unsigned("pool_off", dmaAddr - recorded.poolStart());
        }
        dma.unmapPage(dmaAddr, size, direction, attrs);
        return answers;
    }

    private Answers mapResource(Question question) {
        limit(question);
        long size = question.number("size");
        long dmaAddr = dma.mapResource(question.number("phys"), size, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        Answers answers = new Answers().log("klog", recorded.log().latest());
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            return answers.none("dma");
        }
        dma.unmapResource(dmaAddr, size, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        return answers.unsigned("dma", dmaAddr);
    }

    private Answers mapSg(Question question) {
        limit(question);
        SgTable list = Lists.of(question);
        int ret = dma.mapSg(list, list.origNents(), DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        return mapped(list, ret).signed("ret", ret);
    }

    private Answers mapSgTable(Question question) {
        limit(question);
        SgTable list = Lists.of(question);
        int ret = dma.mapSgTable(list, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        return mapped(list, ret == 0 ? list.nents() : 0).signed("ret", ret).unsigned("nents", list.nents());
    }

    private Answers mapped(SgTable list, int segments) {
        Answers answers = logAndUsed().rows("out", Lists.segments(list, segments));
        if (segments != 0) {
            dma.unmapSg(list, list.origNents(), DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        }
        return answers;
    }

    private Answers allocCoherent(Question question) {
        device.storeCoherentMask(question.number("coherent_mask"));
        device.setBusLimit(question.number("bus_limit"));
        Answers answers = new Answers();
        try (CoherentBuffer buffer = dma.allocCoherent(question.number("size"), DmaAttrs.NONE)) {
            if (buffer == null) {
                return answers.none("dma");
            }
            answers.unsigned("dma", buffer.dmaAddr()).unsigned("nonzero_bytes", Lists.nonzeroBytes(buffer));
            // An identity domain has no tables.
            return bootLine.flag("iommu") ? answers.rows("ptes", List.of()) : answers;
        }
    }

    @Override
    public void close() {
        recorded.close();
    }
}
