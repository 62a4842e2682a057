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
import io.pagewalk.dma.memory.Addresses;
import io.pagewalk.dma.memory.CpuMemory;
import io.pagewalk.dma.scatterlist.SgTable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** {@code iommu_untrusted}: a device on an external port, whose partial pages are bounced before they are mapped. */
final class IommuUntrustedAdapter implements Adapter {
    private final RecordedMachine recorded;
    private final Device device;
    private final Dma dma;
    private final CpuMemory memory;
    private final DomainDump dump;
    private final Map<Integer, Live> live = new HashMap<>();

    private IommuUntrustedAdapter(Question boot) {
        recorded = RecordedMachine.bootUntrusted(boot);
        device = recorded.device();
        dma = recorded.dma();
        memory = recorded.machine().cpuMemory();
        dump = DomainDump.of(recorded);
    }

    private record Live(long dmaAddr, long sizeBytes, DmaDirection direction, long minAlign) {}

    static Family family() {
        return Family.named("iommu_untrusted")
                .answered(Family.BOOT, BootFormat.device())
                .answered("map_page", mapPageFormat())
                .answered(
                        "map_sg",
                        line("min_align", "mask", "in")
                                .exact("ret", "out", "used")
                                .build())
                .answered("unmap", line("h").exact("used").build())
                .by(IommuUntrustedAdapter::new);
    }

    private static LineFormat.Builder line(String... inputs) {
        return LineFormat.builder().identity("fam", "id", "op").input(inputs);
    }

    private static LineFormat mapPageFormat() {
        return line("h", "phys", "size", "dir", "min_align", "mask")
                .exact("dma", "iova_to_phys", "pool_off", "copied_in", "pre_zero", "post_zero")
                .exact("ptes", "used", "max_mapping")
                .rule("klog", Rule.LOG)
                .build();
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
            default -> throw new BadVectorException("unknown op " + kind);
        };
    }

    private void limit(Question question) {
        device.setMinAlignMask(question.number("min_align"));
        device.storeStreamingMask(question.number("mask"));
    }

    private Answers used() {
        return new Answers().unsigned("used", recorded.usedSlots());
    }

    private Answers mapPage(Question question) {
        limit(question);
        long size = question.number("size");
        DmaDirection direction = RecordedMachine.direction(question.integer("dir"));
        Buffer original = new Buffer(memory, question.number("phys"), size);
        original.fillWithPeriod();
        long dmaAddr = dma.mapPage(question.number("phys"), size, direction, DmaAttrs.NONE);
        Answers answers = used().unsigned("max_mapping", dma.maxMappingSize())
                .log("klog", recorded.log().latest());
        if (dmaAddr == Dma.DMA_MAPPING_ERROR) {
            return answers.none("dma");
        }
        live.put(question.integer("h"), new Live(dmaAddr, size, direction, question.number("min_align")));
        long physAddr = dump.iovaToPhys(dmaAddr);
        answers.unsigned("dma", dmaAddr).unsigned("iova_to_phys", physAddr).rows("ptes", dump.of(dmaAddr, size));
        return recorded.isInPool(physAddr) ? bounced(answers, original, physAddr, size) : answers;
    }

    private Answers bounced(Answers answers, Buffer original, long physAddr, long size) {
        long first = Addresses.alignDown(physAddr, Addresses.PAGE_SIZE);
        long end = physAddr + size;
        long pageEnd = Addresses.alignUp(end, Addresses.PAGE_SIZE);
        return answers.unsigned("pool_off", physAddr - recorded.poolStart())
                .flag("copied_in", original.isSameAs(new Buffer(memory, physAddr, size)))
                .flag("pre_zero", new Buffer(memory, first, physAddr - first).isZero())
                .flag("post_zero", new Buffer(memory, end, pageEnd - end).isZero());
    }

    private Answers mapSg(Question question) {
        limit(question);
        SgTable list = Lists.of(question);
        int ret = dma.mapSg(list, list.origNents(), DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        List<long[]> out = new ArrayList<>();
        for (int i = 0; i < ret; i++) {
            out.add(new long[] {list.dmaAddr(i), list.dmaLengthBytes(i), dump.iovaToPhys(list.dmaAddr(i))});
        }
        Answers answers = used().signed("ret", ret).rows("out", out);
        if (ret != 0) {
            dma.unmapSg(list, list.origNents(), DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
        }
        return answers;
    }

    private Answers unmap(Question question) {
        Live mapping = live.remove(question.integer("h"));
        if (mapping == null) {
            throw new BadVectorException("handle " + question.integer("h") + " is not mapped");
        }
        device.setMinAlignMask(mapping.minAlign);
        dma.unmapPage(mapping.dmaAddr, mapping.sizeBytes, mapping.direction, DmaAttrs.NONE);
        return used();
    }

    @Override
    public void close() {
        recorded.close();
    }
}
