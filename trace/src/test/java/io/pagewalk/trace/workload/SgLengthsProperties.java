package io.pagewalk.trace.workload;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.trace.SgEvent;
import io.pagewalk.trace.TraceHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Lists laid out as an IOMMU lays them out (iommu:SG-7, SG-14, SG-15) come back with the lengths they had. */
class SgLengthsProperties {
    private static final long PAGE = 4096;

    /** A segment, and how many pages lie between it and the physical end of the one before. */
    record Segment(long gapPages, long offset, long lengthBytes) {}

    @Provide
    Arbitrary<List<Segment>> lists() {
        Arbitrary<Segment> segment = Combinators.combine(
                        Arbitraries.longs().between(0, 2),
                        Arbitraries.oneOf(
                                Arbitraries.just(0L), Arbitraries.longs().between(0, PAGE - 1)),
                        Arbitraries.oneOf(
                                Arbitraries.just(PAGE), Arbitraries.longs().between(1, 3 * PAGE)))
                .as(Segment::new);
        return segment.list().ofMinSize(2).ofMaxSize(20);
    }

    @Property
    void aListComesBackWithTheLengthsItHad(@ForAll("lists") List<Segment> segments) {
        long iova = 0xfff0_0000L;
        long phys = 0x10_0000;
        PieceRun run = new PieceRun();
        List<Long> physAddrs = new ArrayList<>();
        List<Long> dmaAddrs = new ArrayList<>();
        List<Long> dmaLengths = new ArrayList<>();
        boolean merges = false;
        for (Segment segment : segments) {
            phys += segment.gapPages() * PAGE;
            long span = (segment.offset() + segment.lengthBytes() + PAGE - 1) / PAGE * PAGE;
            run.add(iova, phys, span);
            physAddrs.add(phys + segment.offset());
            if (merges && segment.offset() == 0) {
                int last = dmaLengths.size() - 1;
                dmaLengths.set(last, dmaLengths.get(last) + segment.lengthBytes());
            } else {
                dmaAddrs.add(iova + segment.offset());
                dmaLengths.add(segment.lengthBytes());
            }
            merges = segment.offset() + segment.lengthBytes() == span;
            iova += span;
            phys += span;
        }
        SgEvent.MapSg event = new SgEvent.MapSg(
                TraceHeader.ofCpu(1, 0),
                "device",
                DmaDirection.TO_DEVICE,
                toArray(physAddrs),
                toArray(dmaAddrs),
                toArray(dmaLengths),
                physAddrs.size(),
                dmaAddrs.size(),
                false,
                0);
        long[] lengths = Objects.requireNonNull(SgLengths.rebuild(event, run));
        assertThat(lengths)
                .isEqualTo(segments.stream().mapToLong(Segment::lengthBytes).toArray());
    }

    private static long[] toArray(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }
}
