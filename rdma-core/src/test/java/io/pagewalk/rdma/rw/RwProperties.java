package io.pagewalk.rdma.rw;

import static org.assertj.core.api.Assertions.assertThat;

import io.pagewalk.dma.DmaDirection;
import io.pagewalk.dma.scatterlist.SgTable;
import io.pagewalk.rdma.rw.PlainProvider.PlainMr;
import io.pagewalk.rdma.rw.PlainProvider.PlainQp;
import io.pagewalk.rdma.verbs.Mr;
import io.pagewalk.rdma.verbs.MrType;
import io.pagewalk.rdma.verbs.RwInit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.statistics.Statistics;

/** Pools against a stack, and transfers against the bytes that were asked for. */
class RwProperties {
    /** rdma:POOL-3 to POOL-6. */
    @Property(tries = 100)
    void noRegionIsOutTwiceNoneIsLostAndLeaksAreWarnedOf(
            @ForAll @IntRange(min = 1, max = 6) int count,
            @ForAll @Size(max = 40) List<@IntRange(max = 6) Integer> steps) {
        RwWorld world = new RwWorld();
        PlainQp qp = world.qp(RwInit.NONE);
        assertThat(qp.rdmaMrs().init(count, MrType.MEM_REG, 4, 0)).isZero();
        Deque<Mr> waiting = new ArrayDeque<>();
        List<Mr> out = new ArrayList<>();
        Set<Integer> seen = new HashSet<>();
        for (int step : steps) {
            if (step % 2 == 0) {
                Mr mr = qp.rdmaMrs().get();
                assertThat(mr == null).isEqualTo(out.size() == count);
                if (mr != null) {
                    assertThat(out).doesNotContain(mr);
                    assertThat(seen.add(mr.lkey())).isEqualTo(waiting.isEmpty());
                    if (!waiting.isEmpty()) {
                        assertThat(mr).isSameAs(waiting.pop());
                    }
                    out.add(mr);
                }
            } else if (!out.isEmpty()) {
                Mr mr = out.remove(step % out.size());
                qp.rdmaMrs().put(mr);
                waiting.push(mr);
            }
            assertThat(qp.mrsUsed()).isEqualTo(out.size());
            assertThat(qp.rdmaMrs().size()).isEqualTo(count - out.size());
        }
        assertThat(world.device.destroyQp(qp)).isZero();
        assertThat(world.machine.log().warnCount()).isEqualTo(out.isEmpty() ? 0 : 1);
        assertThat(world.provider.liveMrs).isEqualTo(out.size());
    }

    /** rdma:RW-11 to RW-17: what is posted covers the bytes behind the offset, each once, in order. */
    @Property(tries = 200)
    void whatIsPostedCoversExactlyTheBytesThatWereAsked(
            @ForAll @Size(min = 1, max = 30) List<@IntRange(min = 1, max = 3) Integer> longEntries,
            @ForAll boolean onePageEach,
            @ForAll @IntRange(max = 0x3fff) int offset,
            @ForAll @IntRange(min = 1, max = 7) int maxSge,
            @ForAll @IntRange(min = 1, max = 5) int maxSgeRd,
            @ForAll @IntRange(max = 9) int maxSglRd,
            @ForAll @IntRange(min = 3, max = 12) int regionPages,
            @ForAll boolean read,
            @ForAll boolean forced) {
        // Regions count entries and hold pages: only lists of single pages go through several of them.
        List<Integer> pages = onePageEach ? Collections.nCopies(longEntries.size(), 1) : longEntries;
        RwWorld world = forced ? RwWorld.forced() : new RwWorld();
        world.provider.maxSgeRd = maxSgeRd;
        world.provider.maxSglRd = maxSglRd;
        world.provider.pages = regionPages;
        PlainQp qp = (PlainQp) world.create(RwInit.of(40), maxSge).value();
        SgTable sg = new SgTable(pages.size());
        for (int i = 0; i < pages.size(); i++) {
            sg.add(0x10_0000 + 0x8000L * i, (long) pages.get(i) * RwWorld.PAGE);
        }
        long asked = pages.stream().mapToLong(p -> (long) p * RwWorld.PAGE).sum() - offset;
        DmaDirection direction = read ? DmaDirection.FROM_DEVICE : DmaDirection.TO_DEVICE;
        RwContext context = new RwContext(world.device);
        int places = context.init(qp, 0, 1, sg, offset, 0x5000_0000L, 9, direction);
        if (places < 0) {
            assertThat(asked <= 0 || anyRegionIsTooSmall(pages, regionPages)).isTrue();
            assertThat(qp.mrsUsed()).isZero();
            assertThat(context.operations()).isZero();
            return;
        }
        context.post(qp, 1, null);
        assertThat(qp.posted).hasSize(places);
        long bytes = 0;
        for (List<Long> flat : qp.segments) {
            if (flat.size() > 1) {
                assertThat(flat.get(0))
                        .as("each goes on where the one before ended")
                        .isEqualTo(0x5000_0000L + bytes);
                assertThat((flat.size() - 1) / 2)
                        .isLessThanOrEqualTo(Math.max(1, read ? Math.min(maxSge, maxSgeRd) : maxSge));
                for (int i = 2; i < flat.size(); i += 2) {
                    bytes += flat.get(i);
                }
            }
        }
        assertThat(bytes).isEqualTo(asked);
        if (qp.mrsUsed() == 0) {
            assertThat(addresses(qp)).isEqualTo(expected(pages, offset));
        } else {
            List<PlainMr> taken = world.provider.regions.subList(0, qp.mrsUsed());
            assertThat(taken.stream().flatMap(mr -> mr.mapped.stream()).toList())
                    .as("the pages of the regions, which were taken in their order")
                    .isEqualTo(expectedPages(pages, offset));
            assertThat(taken.get(0).iova() % RwWorld.PAGE).isEqualTo(offset % RwWorld.PAGE);
            Statistics.label("regions")
                    .collect(taken.size() > 1 ? "several" : "one")
                    .coverage(regions -> regions.check("several").count(c -> c > 0));
        }
        context.destroy(qp, 0, sg, direction);
        assertThat(qp.mrsUsed()).isZero();
    }

    /** A region counts entries of the list but holds pages, so that long entries may not fit (rdma:RW-16). */
    private static boolean anyRegionIsTooSmall(List<Integer> pages, int regionPages) {
        return pages.stream().mapToInt(p -> p).sum() > regionPages;
    }

    private static List<Long> addresses(PlainQp qp) {
        List<Long> all = new ArrayList<>();
        qp.segments.forEach(flat -> all.addAll(flat.subList(1, flat.size())));
        return all;
    }

    private static List<Long> expectedPages(List<Integer> pages, int offset) {
        List<Long> all = new ArrayList<>();
        for (int i = 0; i < pages.size(); i++) {
            for (int page = 0; page < pages.get(i); page++) {
                all.add(0x10_0000 + 0x8000L * i + (long) page * RwWorld.PAGE);
            }
        }
        return all.subList(offset / RwWorld.PAGE, all.size());
    }

    private static List<Long> expected(List<Integer> pages, int offset) {
        List<Long> all = new ArrayList<>();
        long skip = offset;
        for (int i = 0; i < pages.size(); i++) {
            long length = (long) pages.get(i) * RwWorld.PAGE;
            if (skip < length) {
                all.add(0x10_0000 + 0x8000L * i + skip);
                all.add(length - skip);
                skip = 0;
            } else {
                skip -= length;
            }
        }
        return all;
    }
}
