package io.pagewalk.conformance.adapter;

import io.pagewalk.conformance.format.Answers;
import io.pagewalk.conformance.format.BadVectorException;
import io.pagewalk.conformance.format.LineFormat;
import io.pagewalk.conformance.format.Question;
import io.pagewalk.dma.Dma;
import io.pagewalk.dma.DmaAttrs;
import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.memory.Addresses;

/** {@code iommu_fq}: mappings made and undone in a loop, faster than the flush queue's timer. */
final class IommuFqAdapter implements Adapter {
    /** Between lines the timer has time to empty the queue. */
    private static final long PAUSE_NANOS = 400_000_000;

    private static final long SOME_BUFFER = 1L << 32;

    private final RecordedMachine recorded;
    private final Dma dma;

    private IommuFqAdapter(Question boot) {
        recorded = RecordedMachine.boot(boot);
        dma = recorded.dma();
    }

    static Family family() {
        return Family.named("iommu_fq")
                .answered(Family.BOOT, BootFormat.device())
                .answered(
                        "map_unmap_loop",
                        LineFormat.builder()
                                .identity("fam", "id", "op")
                                .input("pages", "loops")
                                .exact("iova_pfn")
                                .build())
                .by(IommuFqAdapter::new);
    }

    @Override
    public Answers boot() {
        return recorded.answers();
    }

    @Override
    public Answers answer(String kind, Question question) {
        if (!kind.equals("map_unmap_loop")) {
            throw new BadVectorException("unknown op " + kind);
        }
        long size = question.number("pages") << Addresses.PAGE_SHIFT;
        long[] pfns = new long[question.integer("loops")];
        for (int i = 0; i < pfns.length; i++) {
            long dmaAddr = dma.mapPage(SOME_BUFFER, size, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            dma.unmapPage(dmaAddr, size, DmaDirection.BIDIRECTIONAL, DmaAttrs.NONE);
            pfns[i] = dmaAddr >>> Addresses.PAGE_SHIFT;
        }
        recorded.machine().clock().advance(PAUSE_NANOS);
        return new Answers().list("iova_pfn", pfns);
    }

    @Override
    public void close() {
        recorded.close();
    }
}
