package io.pagewalk.dma.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

class AddressesProperties {

    private static final BigInteger TWO_TO_64 = BigInteger.ONE.shiftLeft(64);

    /** Any long, often small or next to a power of two or to either end. */
    @Provide
    Arbitrary<Long> addresses() {
        Arbitrary<Long> nearPowers = Arbitraries.integers()
                .between(0, 63)
                .flatMap(bit -> Arbitraries.longs().between(-2, 2).map(delta -> (1L << bit) + delta));
        return Arbitraries.oneOf(Arbitraries.longs(), Arbitraries.longs().between(-8, 8), nearPowers);
    }

    private static BigInteger unsigned(long value) {
        return new BigInteger(Long.toUnsignedString(value));
    }

    @Property
    void comparisonsAreThoseOfUnsignedNumbers(@ForAll("addresses") long a, @ForAll("addresses") long b) {
        int order = unsigned(a).compareTo(unsigned(b));
        assertThat(Addresses.lessThan(a, b)).isEqualTo(order < 0);
        assertThat(Addresses.lessOrEqual(a, b)).isEqualTo(order <= 0);
        assertThat(unsigned(Addresses.min(a, b))).isEqualTo(unsigned(a).min(unsigned(b)));
        assertThat(unsigned(Addresses.max(a, b))).isEqualTo(unsigned(a).max(unsigned(b)));
    }

    @Property
    void theSmallerLimitThatIsNotZeroHolds(@ForAll("addresses") long a, @ForAll("addresses") long b) {
        BigInteger none = TWO_TO_64;
        BigInteger limit = (a == 0 ? none : unsigned(a)).min(b == 0 ? none : unsigned(b));
        assertThat(unsigned(Addresses.minNotZero(a, b))).isEqualTo(limit.mod(TWO_TO_64));
    }

    @Property
    void roundingIsToMultiplesModuloTwoTo64(@ForAll("addresses") long x, @ForAll @IntRange(max = 63) int bit) {
        long align = 1L << bit;
        BigInteger multiple = unsigned(align);
        BigInteger down = unsigned(x).divide(multiple).multiply(multiple);
        BigInteger up = unsigned(x)
                .add(multiple)
                .subtract(BigInteger.ONE)
                .divide(multiple)
                .multiply(multiple);
        assertThat(unsigned(Addresses.alignDown(x, align))).isEqualTo(down);
        assertThat(unsigned(Addresses.alignUp(x, align))).isEqualTo(up.mod(TWO_TO_64));
        assertThat(Addresses.isAligned(x, align)).isEqualTo(down.equals(unsigned(x)));
    }

    @Property
    void aBlockOfTheOrderHoldsTheSizeAndOneOfTheOrderBelowDoesNot(@ForAll("addresses") long sizeBytes) {
        int order = Addresses.order(sizeBytes);
        BigInteger block = BigInteger.valueOf(Addresses.PAGE_SIZE).shiftLeft(order);
        if (sizeBytes == 0) {
            assertThat(order).isEqualTo(52);
            return;
        }
        assertThat(block).isGreaterThanOrEqualTo(unsigned(sizeBytes));
        assertThat(order == 0 || block.shiftRight(1).compareTo(unsigned(sizeBytes)) < 0)
                .isTrue();
    }

    @Property
    void rangesOverlapIfTheyShareAByte(
            @ForAll("addresses") long first1,
            @ForAll("addresses") long size1,
            @ForAll("addresses") long first2,
            @ForAll("addresses") long size2) {
        if (wraps(first1, size1) || wraps(first2, size2)) {
            return;
        }
        BigInteger sharedFirst = unsigned(first1).max(unsigned(first2));
        BigInteger sharedEnd = end(first1, size1).min(end(first2, size2));
        boolean nonEmpty = size1 != 0 && size2 != 0;
        assertThat(Addresses.overlaps(first1, size1, first2, size2))
                .isEqualTo(nonEmpty && sharedFirst.compareTo(sharedEnd) < 0);
    }

    @Property
    void aRangeContainsAnotherIfNoByteOfItIsOutside(
            @ForAll("addresses") long first,
            @ForAll("addresses") long size,
            @ForAll("addresses") long innerFirst,
            @ForAll("addresses") long innerSize) {
        if (wraps(first, size) || wraps(innerFirst, innerSize)) {
            return;
        }
        boolean inside = unsigned(first).compareTo(unsigned(innerFirst)) <= 0
                && end(innerFirst, innerSize).compareTo(end(first, size)) <= 0;
        assertThat(Addresses.contains(first, size, innerFirst, innerSize)).isEqualTo(innerSize == 0 || inside);
    }

    private static BigInteger end(long first, long size) {
        return unsigned(first).add(unsigned(size));
    }

    private static boolean wraps(long first, long size) {
        return end(first, size).compareTo(TWO_TO_64) > 0;
    }
}
