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
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.List;

/** {@code iommu_map_sg}: the DMA API behind VT-d from a domain's first mapping on. */
final class IommuMapAdapter implements Adapter {
    private static final int DUMPED_ENTRIES = 16;

    /** What a line takes is not recorded; printing it took the recording machine longer than the queue's timer. */
    private static final long NANOS_BETWEEN_LINES = 100000;

    private final RecordedMachine recorded;
    private final Device device;
    private final Dma dma;
    private final DomainDump dump;
    private final List<Kept> kept = new ArrayList<>();

    private IommuMapAdapter(Question boot) {
        recorded = RecordedMachine.boot(boot);
        device = recorded.device();
        dma = recorded.dma();
        dump = DomainDump.of(recorded);
    }

    /** A mapping that a later line undoes. */
    private record Kept(long dmaAddr, long sizeBytes, DmaDirection direction) {}

    static Family family() {
        return Family.named("iommu_map_sg")
                .answered(Family.BOOT, BootFormat.device())
                .answered("map_page", mapPageFormat())
                .answered(
                        "unmap_page",
                        line("dma", "size", "dir").exact("after_unmap").build())
                .answered("map_resource", mapResourceFormat())
                .answered("map_sg", mapSgFormat().build())
                .answered("map_sgtable", mapSgFormat().exact("nents").build())
                .answered("alloc_coherent", allocCoherentFormat())
                .by(IommuMapAdapter::new);
    }

    private static LineFormat.Builder line(String... inputs) {
        return LineFormat.builder().identity("fam", "id", "op").input(inputs);
    }

    private static LineFormat mapPageFormat() {
        return line("mask", "phys", "size", "dir", "keep")
                .rule("dma", Rule.EXACT_OR_LAYOUT)
                .exact("need_sync")
                .rule("probe", Rule.EXACT_OR_LAYOUT)
                .rule("ptes", Rule.EXACT_OR_LAYOUT)
                .exact("after_unmap")
                .build();
    }

    private static LineFormat mapResourceFormat() {
        return line("mask", "phys", "size")
                .rule("dma", Rule.EXACT_OR_LAYOUT)
                .rule("probe", Rule.EXACT_OR_LAYOUT)
                .rule("ptes", Rule.EXACT_OR_LAYOUT)
                .build();
    }

    private static LineFormat.Builder mapSgFormat() {
        return line("mask", "seg_boundary", "max_seg", "dir", "in")
                .exact("ret")
                .rule("out", Rule.EXACT_OR_LAYOUT)
                .probes("probe", "out")
                .rule("ptes", Rule.EXACT_OR_LAYOUT)
                .exact("restored", "after_unmap", "dma0");
    }

    private static LineFormat allocCoherentFormat() {
        return line("coherent_mask", "bus_limit", "size")
                .rule("dma", Rule.EXACT_OR_LAYOUT)
                .exact("nonzero_bytes")
                .rule("ptes", Rule.COHERENT_PAGES)
                .build();
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        if (recorded.isLazy()) {
            recorded.machine().clock().advance(NANOS_BETWEEN_LINES);
        }
        return switch (kind) {
            case "map_page" -> mapPage(question);
            case "unmap_page" -> unmapPage(question);
            case "map_resource" -> mapResource(question);
            case "map_sg" -> mapSg(question);
            case "map_sgtable" -> mapSgTable(question);
            case "alloc_coherent" -> allocCoherent(question);
            default -> throw new BadVectorException("unknown op " + kind);
        };
    }

    /** A device address; in a lazy boot it depends on when the timer fired. */
    private Answers address(Answers answers, String name, long dmaAddr) {
        return recorded.isLazy() ? answers.placed(name, dmaAddr) : answers.unsigned(name, dmaAddr);
    }

    private Answers rows(Answers answers, String name, List<long[]> rows) {
        return recorded.isLazy() ? answers.placedRows(name, rows) : answers.rows(name, rows);
    }

    /** Lookups, of which one may lie beyond the mapping. */
    private Answers probes(Answers answers, List<long[]> rows, int beyond) {
        return recorded.isLazy() ? answers.placedProbes("probe", rows, beyond) : answers.rows("probe", rows);
    }

    private Answers mapPage(Question question) {
        device.storeStreamingMask(question.number("mask"));
        long size = question.number("size");
        DmaDirection direction = RecordedMachine.direction(question.integer("dir"));
        long dmaAddr = dma.mapPage(question.number("phys"), size, direction, DmaAttrs.NONE);
        Answers answers = new Answers();
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            return answers.none("dma");
        }
        address(answers, "dma", dmaAddr).bit("need_sync", dma.needSync(dmaAddr));
        long page = Addresses.alignDown(dmaAddr, Addresses.PAGE_SIZE);
        long next = Addresses.alignUp(dmaAddr + size, Addresses.PAGE_SIZE);
        probes(answers, probes(dmaAddr, dmaAddr + size - 1, next, page), 2);
        rows(answers, "ptes", dump.of(dmaAddr, size));
        if (question.flag("keep")) {
            kept.add(new Kept(dmaAddr, size, direction));
            return answers;
        }
        dma.unmapPage(dmaAddr, size, direction, DmaAttrs.NONE);
        return answers.unsigned("after_unmap", dump.iovaToPhys(dmaAddr));
    }

    private List<long[]> probes(long... iovas) {
        List<long[]> rows = new ArrayList<>();
        for (long iova : iovas) {
            rows.add(dump.probe(iova));
        }
        return rows;
    }

    private Answers unmapPage(Question question) {
        Kept mapping = take(question);
        dma.unmapPage(mapping.dmaAddr, mapping.sizeBytes, mapping.direction, DmaAttrs.NONE);
        return new Answers().unsigned("after_unmap", dump.iovaToPhys(mapping.dmaAddr));
    }

    /** In a lazy boot the line names the address that it had there: any mapping of that form will do. */
    private Kept take(Question question) {
        long wanted = question.number("dma");
        for (Kept mapping : kept) {
            if ((recorded.isLazy() ? offset(wanted) == offset(mapping.dmaAddr) : wanted == mapping.dmaAddr)
                    && mapping.sizeBytes == question.number("size")
                    && mapping.direction == RecordedMachine.direction(question.integer("dir"))) {
                kept.remove(mapping);
                return mapping;
            }
        }
        throw new BadVectorException("no kept mapping is like the one to unmap");
    }

    private static long offset(long address) {
        return address & (Addresses.PAGE_SIZE - 1);
    }

    private Answers mapResource(Question question) {
        device.storeStreamingMask(question.number("mask"));
        long size = question.number("size");
        long dmaAddr = dma.mapResource(question.number("phys"), size, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        Answers answers = new Answers();
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            return answers.none("dma");
        }
        address(answers, "dma", dmaAddr);
        probes(answers, probes(dmaAddr), -1);
        rows(answers, "ptes", dump.of(dmaAddr, size));
        dma.unmapResource(dmaAddr, size, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        return answers;
    }

    private SgTable list(Question question) {
        device.storeStreamingMask(question.number("mask"));
        device.setSegmentBoundaryMask(question.number("seg_boundary"));
        device.setMaxSegmentBytes(question.number("max_seg"));
        return Lists.of(question);
    }

    private Answers mapSg(Question question) {
        SgTable list = list(question);
        int ret = dma.mapSg(list, list.origNents(), RecordedMachine.direction(question.integer("dir")), DmaAttrs.NONE);
        return mapped(question, list, ret, ret == 0).signed("ret", ret);
    }

    private Answers mapSgTable(Question question) {
        SgTable list = list(question);
        int ret = dma.mapSgTable(list, RecordedMachine.direction(question.integer("dir")), DmaAttrs.NONE);
        return mapped(question, list, ret == 0 ? list.nents() : 0, ret != 0)
                .signed("ret", ret)
                .unsigned("nents", list.nents());
    }

    private Answers mapped(Question question, SgTable list, int segments, boolean failed) {
        Answers answers = new Answers();
        List<long[]> out = Lists.segments(list, segments);
        rows(answers, "out", out);
        List<long[]> probes = failed ? List.of() : probesOf(out, question.numbers("probe"));
        probes(answers, probes, probes.size() - 1);
        if (failed) {
            answers.list("dma0", list.dmaAddr(0), list.dmaLengthBytes(0));
        } else {
            if (isDumped(list)) {
                long[] last = out.get(segments - 1);
                rows(answers, "ptes", dump.of(out.get(0)[0], last[0] + last[1] - out.get(0)[0]));
            }
            dma.unmapSg(list, list.origNents(), RecordedMachine.direction(question.integer("dir")), DmaAttrs.NONE);
            answers.unsigned("after_unmap", dump.iovaToPhys(out.get(0)[0]));
        }
        return answers.flag("restored", Lists.isAsAsked(list, question));
    }

    /** First, inner and last byte of the first segments; a segment without bytes has a first address only. */
    private List<long[]> probesOf(List<long[]> segments, long... inside) {
        List<long[]> rows = new ArrayList<>();
        for (int i = 0; i < Math.min(segments.size(), inside.length); i++) {
            long start = segments.get(i)[0];
            long bytes = segments.get(i)[1];
            rows.add(dump.probe(start));
            if (bytes != 0) {
                rows.add(dump.probe(start + inside[i]));
                rows.add(dump.probe(start + bytes - 1));
            }
        }
        long[] last = segments.get(segments.size() - 1);
        rows.add(dump.probe(Addresses.alignUp(last[0] + last[1], Addresses.PAGE_SIZE)));
        return rows;
    }

    private static boolean isDumped(SgTable list) {
        boolean dumped = list.origNents() <= DUMPED_ENTRIES;
        for (int i = 0; dumped && i < list.origNents(); i++) {
            dumped = list.lengthBytes(i) != 0;
        }
        return dumped;
    }

    private Answers allocCoherent(Question question) {
        device.storeCoherentMask(question.number("coherent_mask"));
        device.setBusLimit(question.number("bus_limit"));
        Answers answers = new Answers();
        try (CoherentBuffer buffer = dma.allocCoherent(question.number("size"), DmaAttrs.NONE)) {
            if (buffer == null) {
                return answers.none("dma");
            }
            address(answers, "dma", buffer.dmaAddr()).unsigned("nonzero_bytes", Lists.nonzeroBytes(buffer));
            return rows(answers, "ptes", dump.of(buffer.dmaAddr(), buffer.sizeBytes()));
        } finally {
            device.setBusLimit(0);
        }
    }

    @Override
    public void close() {
        recorded.close();
    }
}
