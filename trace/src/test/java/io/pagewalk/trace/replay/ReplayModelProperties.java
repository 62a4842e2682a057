package io.pagewalk.trace.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.trace.workload.Operation;
import io.pagewalk.trace.workload.Origin;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;

/** The replay's small parts against naive models. */
class ReplayModelProperties {

    @Property
    void aPatternDependsOnThePlaceAndNotOnWhereFillingBegan(
            @ForAll @LongRange(min = 0, max = 1L << 46) long physAddr,
            @ForAll @IntRange(min = 1, max = 100) int length,
            @ForAll @IntRange(min = 0, max = 99) int skip,
            @ForAll long salt) {
        byte[] whole = new byte[200];
        Pattern.fill(whole, length + skip, physAddr, salt);
        byte[] part = new byte[100];
        Pattern.fill(part, length, physAddr + skip, salt);
        assertThat(Arrays.copyOf(part, length)).isEqualTo(Arrays.copyOfRange(whole, skip, skip + length));
    }

    @Property
    void chunksAreCountedAsAMapWould(@ForAll @Size(max = 300) List<@IntRange(min = -40, max = 40) Integer> steps) {
        ChunkUse use = new ChunkUse();
        Map<Integer, Integer> model = new HashMap<>();
        for (int step : steps) {
            int chunk = Math.abs(step);
            if (step >= 0) {
                use.add(chunk << 20);
                model.merge(chunk, 1, Integer::sum);
            } else if (model.containsKey(chunk)) {
                boolean last = model.merge(chunk, -1, (a, b) -> a + b == 0 ? null : a + b) == null;
                assertThat(use.remove(chunk << 20)).isEqualTo(last);
            }
            assertThat(use.size()).isEqualTo(model.size());
        }
    }

    @Property
    void aWalkTouchesJustWhatItShouldAndFindsItsDmaAddress(
            @ForAll @Size(min = 1, max = 6) List<@IntRange(min = 0, max = 300) Integer> cpuLengths,
            @ForAll @Size(max = 5) List<@IntRange(min = 1, max = 300) Integer> cuts,
            @ForAll boolean full,
            @ForAll @IntRange(min = 0, max = 500) int offset,
            @ForAll @IntRange(min = 0, max = 2000) int size) {
        long[] phys = new long[cpuLengths.size()];
        long[] lengths = new long[cpuLengths.size()];
        for (int i = 0; i < phys.length; i++) {
            phys[i] = (i + 1) * 0x10_0000L;
            lengths[i] = cpuLengths.get(i);
        }
        LiveMapping live = new LiveMapping(map(phys, lengths), 0, 1);
        SgTable table = dmaSegments(live.sizeBytes, cuts);
        live.tables[0] = table;
        live.dmaAddrs[0] = 0;
        TouchWalk walk = new TouchWalk(full ? Touch.FULL : Touch.EDGES);
        walk.bothSides(live, 0, offset, size);
        boolean[] touched = new boolean[(int) live.sizeBytes];
        while (walk.next()) {
            assertThat(walk.isReached()).isTrue();
            int at = position(phys, lengths, walk.physAddr());
            for (int i = 0; i < walk.lengthBytes(); i++, at++) {
                assertThat(touched[at]).isFalse();
                touched[at] = true;
                assertThat(walk.dmaAddr() + i).isEqualTo(dmaAddrOf(table, at));
            }
        }
        assertThat(touched).isEqualTo(expected(lengths, full, offset, offset + size));
    }

    private static Operation.Map map(long[] phys, long[] lengths) {
        Operation.Kind kind = Operation.Kind.SG;
        return new Operation.Map(
                new Origin(1, 0, 0), 0, "device", DmaDirection.TO_DEVICE, kind, phys, lengths, 0, false);
    }

    /** Cuts a mapping's bytes into DMA segments that lie apart. */
    private static SgTable dmaSegments(long sizeBytes, List<Integer> cuts) {
        SgTable table = new SgTable(8);
        long left = sizeBytes;
        int segments = 0;
        for (int cut : cuts) {
            long length = Math.min(cut, left);
            if (length > 0) {
                table.add(0, 1);
                table.setDma(segments, 0x7000_0000L + segments * 0x1_0000L, length);
                segments++;
                left -= length;
            }
        }
        if (left > 0) {
            table.add(0, 1);
            table.setDma(segments, 0x7000_0000L + segments * 0x1_0000L, left);
            segments++;
        }
        table.mapped(segments);
        return table;
    }

    private static long dmaAddrOf(SgTable table, int position) {
        long left = position;
        int segment = 0;
        while (left >= table.dmaLengthBytes(segment)) {
            left -= table.dmaLengthBytes(segment++);
        }
        return table.dmaAddr(segment) + left;
    }

    private static int position(long[] phys, long[] lengths, long physAddr) {
        int position = 0;
        for (int i = 0; i < phys.length; i++) {
            if (physAddr >= phys[i] && physAddr < phys[i] + lengths[i]) {
                return position + (int) (physAddr - phys[i]);
            }
            position += (int) lengths[i];
        }
        throw new AssertionError("no segment has " + physAddr);
    }

    private static boolean[] expected(long[] lengths, boolean full, long from, long to) {
        boolean[] expected = new boolean[(int) Arrays.stream(lengths).sum()];
        long start = 0;
        for (long length : lengths) {
            long first = Math.max(from, start);
            long end = Math.min(to, start + length);
            for (long at = first; at < end; at++) {
                boolean edge = at < first + Touch.EDGE_BYTES || at >= end - Touch.EDGE_BYTES;
                expected[(int) at] = full || edge;
            }
            start += length;
        }
        return expected;
    }
}
