package io.pagewalk.dma.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AddressIndexTest {
    private record Range(long first, long size, String name) {}

    private final AddressIndex<Range> index = new AddressIndex<>(Range::first, Range::size);

    private Range add(long first, long size, String name) {
        Range range = new Range(first, size, name);
        index.add(range);
        return range;
    }

    private List<String> containing(long address) {
        List<String> names = new ArrayList<>();
        index.forEachContaining(address, range -> names.add(range.name()));
        return names;
    }

    @Test
    void rangesThatOverlapAreFoundNearestBeginningFirst() {
        add(0x1000, 0x3000, "large");
        add(0x2000, 0x10, "small");
        add(0x2000, 0x100, "middle");
        add(0x5000, 0x10, "behind");

        assertThat(containing(0x2000)).containsExactly("small", "middle", "large");
        assertThat(containing(0x2010)).containsExactly("middle", "large");
        assertThat(containing(0x3fff)).containsExactly("large");
        assertThat(containing(0x4000)).isEmpty();
        assertThat(containing(0xfff)).isEmpty();
    }

    private List<String> overlapping(long first, long size) {
        List<String> names = new ArrayList<>();
        index.forEachOverlapping(first, size, range -> names.add(range.name()));
        return names;
    }

    @Test
    void rangesThatShareAnAddressWithOneAreFoundFarthestBeginningFirst() {
        add(0x1000, 0x3000, "large");
        add(0x2000, 0x10, "small");
        add(0x2000, 0x100, "middle");
        add(0x5000, 0x10, "behind");
        add(0xffff_ffff_ffff_f000L, 0x1000, "top");

        assertThat(overlapping(0, 0x1000)).isEmpty();
        assertThat(overlapping(0, 0x1001)).containsExactly("large");
        assertThat(overlapping(0x200f, 1)).containsExactly("small", "middle", "large");
        assertThat(overlapping(0x2010, 0x1000)).containsExactly("middle", "large");
        assertThat(overlapping(0x2100, 0x2f01)).containsExactly("behind", "large");
        assertThat(overlapping(0x3fff, 1)).containsExactly("large");
        assertThat(overlapping(0x4000, 0x1000)).isEmpty();
        assertThat(overlapping(0x5010, -1L - 0x5010 - 0xfff)).isEmpty();
        assertThat(overlapping(-1L, 1)).containsExactly("top");
    }

    @Test
    void anEmptyRangeHasNoAddressInCommonWithAny() {
        add(0x1000, 0, "empty");
        assertThat(overlapping(0, 0x2000)).isEmpty();
        assertThat(overlapping(0x1000, 1)).isEmpty();
        assertThat(containing(0x1000)).isEmpty();
    }

    @Test
    void aRangeIsFoundHoweverManySmallOnesBeginBehindItsStart() {
        add(0x10_0000, 0x10_0000, "large");
        for (long at = 0; at < 1000; at++) {
            add(0x10_0000 + at * 16, 8, "small");
        }
        assertThat(containing(0x1f_ffff)).containsExactly("large");
        assertThat(index.size()).isEqualTo(1001);
    }

    @Test
    void removalTakesTheEarliestOfEqualOnes() {
        Range one = add(0x1000, 0x10, "one");
        Range two = add(0x1000, 0x20, "two");

        assertThat(index.remove(new Range(0x1000, 0x30, "three"))).isFalse();
        assertThat(index.remove(new Range(0x2000, 0x30, "three"))).isFalse();
        assertThat(index.startingAt(0x1000)).containsExactly(one, two);
        assertThat(index.remove(one)).isTrue();
        assertThat(index.startingAt(0x1000)).containsExactly(two);
        assertThat(index.remove(two)).isTrue();
        assertThat(index.startingAt(0x1000)).isEmpty();
        assertThat(index.size()).isZero();
        assertThat(index.atOrBelow(-1L)).isNull();
    }

    @Test
    void neighboursAreUnsigned() {
        Range low = add(0x1000, 0x10, "low");
        Range high = add(-0x1000L, 0x10, "high");
        Range alsoHigh = add(-0x1000L, 0x20, "also");

        assertThat(index.atOrBelow(0x0fff)).isNull();
        assertThat(index.atOrBelow(0x1000)).isEqualTo(low);
        assertThat(index.above(0x1000)).isEqualTo(high);
        assertThat(index.above(0x0fff)).isEqualTo(low);
        assertThat(index.atOrBelow(-1L)).isEqualTo(alsoHigh);
        assertThat(index.above(-1L)).isNull();
        List<Range> all = new ArrayList<>();
        index.forEach(all::add);
        assertThat(all).containsExactly(low, high, alsoHigh);
    }

    @Test
    void clearedItIsAsNew() {
        add(0x1000, 0x1000, "one");
        index.clear();

        assertThat(index.size()).isZero();
        assertThat(containing(0x1000)).isEmpty();
        add(0x1000, 0x10, "two");
        assertThat(containing(0x100f)).containsExactly("two");
        assertThat(containing(0x1010)).isEmpty();
    }
}
